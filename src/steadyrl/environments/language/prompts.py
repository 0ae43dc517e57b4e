"""Prompts as tokens, and whether they leave room for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadyrl.core.errors import ConfigError
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.tasks import Task

_SPECIAL = 4  # tokens that a tokenizer may add of its own


def check_prompts(policy: LanguagePolicy, tokenizer: Any, task: Task, max_new_tokens: int) -> None:
    """Refuse a task with a prompt that leaves no room, before it comes up in training.

    Only long prompts are encoded: a token is at least a byte.
    """
    room = policy.context - max_new_tokens - _SPECIAL
    problems = (*task.train, *task.held_out)
    long = [p.prompt for p in problems if len(p.prompt.encode()) > room]
    if long:
        encode_prompts(policy, tokenizer, long, max_new_tokens)


def encode_prompts(
    policy: LanguagePolicy, tokenizer: Any, prompts: Sequence[str], max_new_tokens: int
) -> list[list[int]]:
    """Tokens of each prompt; one that cannot be written, or leaves no room, is refused."""
    if not prompts:
        raise ConfigError("there are no prompts to complete.")
    try:
        encoded: list[list[int]] = tokenizer(list(prompts))["input_ids"]
    except Exception as error:
        reason = _unknown_characters(tokenizer, prompts) or " ".join(str(error).split())
        raise ConfigError(f"a prompt cannot be written in the model's tokens: {reason}.") from error
    for prompt, tokens in zip(prompts, encoded, strict=True):
        if not tokens:
            raise ConfigError(f"the prompt {prompt!r} is empty.")
        if len(tokens) + max_new_tokens > policy.context:
            shown = prompt if len(prompt) <= 40 else f"{prompt[:37]}..."
            raise ConfigError(
                f"a prompt of {len(tokens)} tokens ({shown!r}) and max_new_tokens = "
                f"{max_new_tokens} exceed the model's context of {policy.context} tokens. Shorten "
                "either."
            )
    return encoded


def _unknown_characters(tokenizer: Any, prompts: Sequence[str]) -> str:
    """Of a tokenizer of single characters: those that it does not know, in words."""
    known = tokenizer.get_vocab()
    lacking = dict.fromkeys(mark for prompt in prompts for mark in prompt if mark not in known)
    if not lacking:
        return ""
    return f"it knows single characters, and not {', '.join(repr(mark) for mark in lacking)}"
