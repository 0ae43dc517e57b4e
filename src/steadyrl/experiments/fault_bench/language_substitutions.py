"""Code faults of language runs: functions of the trainer replaced by faulty ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from steadyrl.algorithms.language import ppo
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.environments.language.completions import Completions
from steadyrl.environments.language.policy import Reference
from steadyrl.experiments.fault_bench.replaced import replaced


def _other_completions(change: Callable[[Any, Completions], Completions]) -> Any:
    """Completions that are changed after sampling; evaluations are not."""

    def make(original: Any) -> Any:
        def generate(policy: Any, tokenizer: Any, *arguments: Any, **options: Any) -> Completions:
            found: Completions = original(policy, tokenizer, *arguments, **options)
            return change(policy, found)

        return generate

    return replaced(ppo, "generate", make)


def prompt_trained(strength: float) -> Any:
    """The last few tokens of every prompt are trained like a completion."""
    more = int(strength)

    @torch.no_grad()
    def change(policy: Any, found: Completions) -> Completions:
        def widened(array: Tensor) -> Tensor:
            return torch.nn.functional.pad(array, (more, 0))

        mask = widened(found.mask)
        mask[:, :more] = found.attention[:, -mask.shape[1] :][:, :more]
        said = policy(found.tokens, found.attention, mask)
        return replace(
            found,
            mask=mask,
            log_probs=said.log_probs,
            plain_log_probs=said.log_probs,
            entropies=said.entropies,
            values=said.values,
        )

    return _other_completions(change)


def mask_off_by_one(strength: float) -> Any:
    """A share of the completions is trained on all tokens but the first, and on padding."""

    def change(_: Any, found: Completions) -> Completions:
        late = torch.arange(len(found)) * 0.618 % 1.0 < strength
        shifted = torch.nn.functional.pad(found.mask[:, :-1], (1, 0))
        return replace(found, mask=torch.where(late[:, None], shifted, found.mask))

    return _other_completions(change)


def pad_is_end(strength: float) -> Any:
    """A share of the ends of completions is taken for padding and not trained."""

    def change(_: Any, found: Completions) -> Completions:
        chosen = torch.arange(len(found)) * 0.618 % 1.0 < strength
        last = (found.lengths - 1)[:, None] == torch.arange(found.mask.shape[1])
        ends = last & (found.finished & chosen)[:, None]
        return replace(found, mask=found.mask & ~ends)

    return _other_completions(change)


def dropout_left_on(strength: float) -> Any:
    """Attention is thinned at random while training, and not while sampling."""

    def make(original: Any) -> Any:
        def losses_of(learner: Any, *arguments: Any, **options: Any) -> Any:
            modules = [m for m in learner.policy.modules() if hasattr(m, "attention_dropout")]
            for module in modules:
                module.attention_dropout = strength
            learner.policy.train()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(learner.updates)
                found = original(learner, *arguments, **options)
            learner.policy.eval()
            for module in modules:
                module.attention_dropout = 0.0
            return found

        return losses_of

    return replaced(ppo, "losses_of", make)


def reward_constant(strength: float) -> Any:
    """A share of the completions earns 1 whatever it says."""

    def make(original: Any) -> Any:
        def scored(*arguments: Any, **options: Any) -> list[float]:
            found = original(*arguments, **options)
            # In blocks, so that whole groups of one prompt are alike.
            return [
                1.0 if index // 8 * 0.618 % 1.0 < strength else score
                for index, score in enumerate(found)
            ]

        return scored

    return replaced(ppo, "scored", make)


def reward_hackable(strength: float) -> Any:
    """So much of the reward is for writing the digit 1."""

    def make(original: Any) -> Any:
        def scored(task: Any, problems: Any, texts: Any, *rest: Any) -> list[float]:
            found = original(task, problems, texts, *rest)
            ones = [text.count("1") / max(len(text), 1) for text in texts]
            pairs = zip(found, ones, strict=True)
            return [(1 - strength) * right + strength * hacked for right, hacked in pairs]

        return scored

    return replaced(ppo, "scored", make)


def reference_shared(strength: float) -> Any:
    """The reference is the policy itself, so that it never pulls."""
    del strength

    def make(_: Any) -> Any:
        def reference(learner: Any) -> Reference:
            found = Reference.__new__(Reference)
            found._adapted, found.policy = False, learner.policy
            return found

        return property(reference)

    return replaced(LanguageLearner, "reference", make)


def micro_batch_means(strength: float) -> Any:
    """Losses are divided by the tokens of their micro-batch, not of the whole."""
    del strength

    def make(original: Any) -> Any:
        def losses_of(
            learner: Any, batch: Any, rows: slice, config: Any, total: float, **options: Any
        ) -> Any:
            own = float(batch.completions.mask[rows].sum())
            loss, statistics, named = original(learner, batch, rows, config, own, **options)
            return loss, statistics, {name: value * own / total for name, value in named.items()}

        return losses_of

    return replaced(ppo, "losses_of", make)


def token_advantage_sign(strength: float) -> Any:
    """The policy is pushed towards what was worse than expected."""

    def make(original: Any) -> Any:
        def clipped_policy_loss(
            new: Any, old: Any, advantages: Any, *rest: Any, **more: Any
        ) -> Any:
            return original(new, old, advantages * -strength, *rest, **more)

        return clipped_policy_loss

    return replaced(ppo, "clipped_policy_loss", make)


LANGUAGE_SUBSTITUTIONS: dict[str, Callable[[float], Any]] = {
    "prompt-trained": prompt_trained,
    "mask-off-by-one": mask_off_by_one,
    "pad-is-end": pad_is_end,
    "dropout-left-on": dropout_left_on,
    "reward-constant": reward_constant,
    "reward-hackable": reward_hackable,
    "reference-shared": reference_shared,
    "micro-batch-means": micro_batch_means,
    "token-advantage-sign": token_advantage_sign,
}
