"""A short supervised start: until the model is right sometimes, and not yet mostly.

Rewards of 0 and 1 teach most where both occur. A model with random weights never answers right,
so it is shown solved problems first, and no longer than it takes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError
from steadyrl.core.seeding import derived_seed
from steadyrl.environments.language.accuracy import Accuracy, HeldOut, held_out_accuracy
from steadyrl.environments.language.generation import end_tokens
from steadyrl.environments.language.models import load_trained_state, trained_state
from steadyrl.environments.language.policy import LanguagePolicy, TokenOutputs
from steadyrl.environments.language.tasks import Problem, Task
from steadyrl.nets.processes import ALONE, Processes

Progress = Callable[[int, float, Accuracy], None]  # step, loss, accuracy of samples


@dataclass(frozen=True, slots=True)
class WarmStart:
    """What a warm start did."""

    steps: int
    before: HeldOut
    after: HeldOut
    reached: bool  # whether held-out accuracy of samples lies in the wanted range


@dataclass(frozen=True, slots=True)
class WarmStartSettings:
    """How to warm up; the defaults suit a model of a million parameters."""

    low: float = 0.3
    high: float = 0.6
    learning_rate: float = 1e-3
    batch_size: int = 128
    look_every: int = 50  # steps between two looks at held-out accuracy
    max_steps: int = 4_000
    held_out: int = 200
    max_new_tokens: int = 8
    max_level: int | None = None  # show only problems up to this level


def warm_start(
    policy: LanguagePolicy,
    tokenizer: Any,
    task: Task,
    settings: WarmStartSettings,
    *,
    seed: int,
    progress: Progress | None = None,
    processes: Processes = ALONE,
) -> WarmStart:
    """Train on solved problems until held-out accuracy of samples is at least `low`.

    Samples are what rewards are given for. If a look finds it above `high`, training goes back to
    the look before and takes half as many steps to the next one. The same seed gives the same
    weights on the same machine. Several processes take a share of every batch and of every look.
    """
    problems = [
        p for p in task.train if settings.max_level is None or p.level <= settings.max_level
    ]
    if not problems:
        raise ConfigError(f"warm start: no problem has a level up to {settings.max_level}.")
    ends = end_tokens(tokenizer, task.stop)

    def look() -> HeldOut:
        return held_out_accuracy(
            policy,
            tokenizer,
            task,
            count=settings.held_out,
            max_new_tokens=settings.max_new_tokens,
            ends=ends,
            processes=processes,
        )

    teacher = _Teacher(policy, tokenizer, problems, settings, seed, processes)
    before = found = look()
    every, kept = settings.look_every, (teacher.state(), before)
    while found.sampled.share < settings.low and teacher.steps < settings.max_steps:
        loss = sum(teacher.step() for _ in range(every)) / every
        found = look()
        if progress is not None:
            progress(teacher.steps, loss, found.sampled)
        if found.sampled.share > settings.high and every > 1:
            teacher.restore(kept[0])
            found, every = kept[1], every // 2
        else:
            kept = teacher.state(), found
    reached = settings.low <= found.sampled.share <= settings.high
    return WarmStart(teacher.steps, before, found, reached)


def solved(tokenizer: Any, problems: Sequence[Problem]) -> tuple[Tensor, Tensor, Tensor]:
    """(tokens, attention, mask) of prompts with their right answers, as a policy takes them."""
    prompts = tokenizer([problem.prompt for problem in problems])["input_ids"]
    answers = tokenizer([p.answer for p in problems], add_special_tokens=False)["input_ids"]
    answers = [[*answer, tokenizer.eos_token_id] for answer in answers]
    before, after = max(map(len, prompts)), max(map(len, answers))
    tokens = torch.full((len(problems), before + after), int(tokenizer.pad_token_id))
    attention = torch.zeros(tokens.shape, dtype=torch.bool)
    for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        place = slice(before - len(prompt), before + len(answer))
        tokens[row, place] = torch.tensor([*prompt, *answer])
        attention[row, place] = True
    return tokens, attention, attention[:, before:]


class _Teacher:
    """Weights, optimiser and draws of a supervised training that can go back."""

    def __init__(
        self,
        policy: LanguagePolicy,
        tokenizer: Any,
        problems: Sequence[Problem],
        settings: WarmStartSettings,
        seed: int,
        processes: Processes,
    ) -> None:
        self._policy, self._settings, self._seed = policy, settings, seed
        self._processes = processes
        self._problems, self._tokenizer = problems, tokenizer
        self._weights = [weight for weight in policy.parameters() if weight.requires_grad]
        self._optimiser = torch.optim.AdamW(self._weights, settings.learning_rate, weight_decay=0.0)
        self.steps = 0

    def step(self) -> float:
        """One update on problems drawn by the number of the step; the mean loss of their tokens."""
        generator = np.random.default_rng(derived_seed(self._seed, "warm start", self.steps))
        drawn = generator.integers(len(self._problems), size=self._settings.batch_size)
        arrays = solved(self._tokenizer, [self._problems[index] for index in drawn])
        total, mine = arrays[2].sum(), self._processes.share(slice(0, len(drawn)))
        tokens, attention, mask = (array[mine].to(self._policy.device) for array in arrays)
        self._optimiser.zero_grad()
        with self._processes.descending():
            outputs: TokenOutputs = self._policy(tokens, attention, mask)
            loss = -outputs.log_probs.sum() / total
            torch.autograd.backward(loss)
        self._processes.add(w.grad for w in self._weights if w.grad is not None)
        torch.nn.utils.clip_grad_norm_(self._policy.parameters(), 1.0)
        self._optimiser.step()
        self.steps += 1
        return self._processes.added({"loss": float(loss.detach())})["loss"]

    def state(self) -> tuple[int, dict[str, Tensor], dict[str, Any]]:
        """Everything a step depends on."""
        return self.steps, trained_state(self._policy), copy.deepcopy(self._optimiser.state_dict())

    def restore(self, state: tuple[int, dict[str, Tensor], dict[str, Any]]) -> None:
        """Back to an earlier state."""
        self.steps, weights, moments = state
        load_trained_state(self._policy, weights)
        self._optimiser.load_state_dict(moments)
