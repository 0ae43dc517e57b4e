"""Preflight of a language run: laws that must hold on the real model before its first step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from steadyrl.algorithms.common.training import Training
from steadyrl.algorithms.language.batch import Batch
from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.measures import mask_error
from steadyrl.algorithms.language.ppo import estimate, find_gradient, sample
from steadyrl.algorithms.language.reading import read, refer
from steadyrl.environments.language.completions import Completions
from steadyrl.maths.token_losses import kl_estimates
from steadyrl.stability.check import Concern

ROWS = 32  # completions that the laws are tried on
SPLITS = (1, 2, 4)
# Largest relative difference of two gradients, log-ratio of any token, and mean KL.
EXACT_BARS = (1e-5, 1e-3, 1e-6)
ROUNDED_BARS = (5e-2, 5e-1, 1e-2)


def language_concerns(training: Training) -> list[Concern]:
    """Whether split, ratio, reference, padding, mask and rewards are what they must be."""
    learner, config = training.learner, training.live.now
    assert isinstance(learner, LanguageLearner)
    learner.warm_up(config)
    completions, scores = sample(learner, config)
    spread = float(scores.max() - scores.min())
    # Scores that are all equal have no gradient, and a law is not proved on zeros.
    told_apart = scores if spread else torch.arange(len(scores)).to(scores) % 3
    batch, _ = estimate(learner, completions, told_apart, config)
    bars = ROUNDED_BARS if config.rounds else EXACT_BARS
    found = [
        _split(learner, batch, config, bars[0]),
        _ratio(learner, batch, config, bars[1]),
        _reference(learner, completions, config, bars[2]),
        _padding(learner),
        _mask(learner, completions),
        None if spread else _equal_rewards(completions, float(scores[0])),
    ]
    learner.optimizer.zero()
    return [concern for concern in found if concern is not None]


def largest_difference(
    gradient: Callable[[int], Tensor], splits: tuple[int, ...]
) -> tuple[float, float]:
    """(largest relative difference, length) of gradients found in so many parts each."""
    whole = gradient(splits[0])
    length = float(whole.norm())
    apart = [float((gradient(split) - whole).norm()) for split in splits[1:]]
    return max(apart) / max(length, torch.finfo(torch.float32).tiny), length


def gradient_in_parts(
    learner: LanguageLearner, batch: Batch, config: LanguageConfig, split: int
) -> Tensor:
    """The gradient of the whole batch as one vector, found in so many micro-batches."""
    in_parts = config.replaced({"micro_batch_size": max(len(batch) // split, 1)})
    find_gradient(learner, batch, slice(0, len(batch)), in_parts)
    return learner.weights.whole_gradient().float()


def _split(
    learner: LanguageLearner, batch: Batch, config: LanguageConfig, bar: float
) -> Concern | None:
    apart, length = largest_difference(
        lambda split: gradient_in_parts(learner, batch, config, split), SPLITS
    )
    figures = (
        f"the gradient of {len(batch)} completions (length {length:.3g}), found in "
        f"{SPLITS[0]}, {SPLITS[1]} and {SPLITS[2]} micro-batches, differs by at most {apart:.1e} "
        f"of its length (bar {bar:.0e})"
    )
    if apart <= bar and length > 0:
        return Concern(
            "P010",
            "split-does-not-matter",
            "note",
            figures,
            "Micro-batches, and processes, may be chosen for memory and speed alone.",
            "Nothing to do.",
        )
    return Concern(
        "P010",
        "split-matters",
        "severe",
        figures,
        "The same settings then train differently on other memory or other numbers of processes.",
        "Divide every loss by the token count of the whole minibatch, never by that of a part.",
    )


def _ratio(
    learner: LanguageLearner, batch: Batch, config: LanguageConfig, bar: float
) -> Concern | None:
    furthest = find_gradient(learner, batch, slice(0, len(batch)), config)["policy.ratio_max"]
    if furthest <= bar:
        return None
    return Concern(
        "P011",
        "ratio-not-one-at-start",
        "severe",
        f"before any step the log-ratio of a token is {furthest:.1e} (bar {bar:.0e})",
        "The policy that is trained is not the one that sampled: every ratio would be wrong.",
        "Look for dropout left on, other positions or padding, or another number format.",
    )


def _reference(
    learner: LanguageLearner, completions: Completions, config: LanguageConfig, bar: float
) -> Concern | None:
    if config.kl == "none":
        return None
    policy = read(learner, completions, config).log_probs
    reference = refer(learner, completions, config)
    kl = kl_estimates(policy, reference, completions.mask, "k3")
    mean = float(kl.sum() / completions.mask.sum())
    if mean <= bar:
        return None
    return Concern(
        "P012",
        "reference-is-not-the-start",
        "severe",
        f"before any step the KL to the reference is {mean:.1e} (bar {bar:.0e})",
        "The KL penalty would pull the policy to a model that it did not come from.",
        "The reference must be a copy of the policy, made after any warm start.",
    )


def _padding(learner: LanguageLearner) -> Concern | None:
    padding = int(learner.tokenizer.pad_token_id)
    if padding not in learner.ends:
        return None
    return Concern(
        "P013",
        "padding-ends-completions",
        "warning",
        f"token {padding} is padding and also ends a completion",
        "Code that tells them apart by their number trains on padding, or never on the end.",
        "Give the tokenizer a padding token of its own and save it again.",
    )


def _mask(learner: LanguageLearner, completions: Completions) -> Concern | None:
    error = mask_error(completions, learner.ends)
    if error == 0:
        return None
    return Concern(
        "P014",
        "mask-is-not-the-completion",
        "severe",
        f"the mask is wrong for {error:.1%} of the tokens that are to be trained",
        "Tokens of the prompt would be trained, or tokens of the completion would not.",
        "The mask must cover each completion and the token that ends it, and nothing else.",
    )


def _equal_rewards(completions: Completions, score: float) -> Concern:
    prompts = len(completions) // completions.samples_per_prompt
    return Concern(
        "P015",
        "equal-rewards-at-start",
        "warning",
        f"all {len(completions)} completions of {prompts} prompts scored {score:g}",
        "Where all rewards are equal there is nothing to learn from.",
        "Begin with easier problems, a warm start or a model that is right sometimes; see that "
        "the scorer reads the completions as they are written.",
    )
