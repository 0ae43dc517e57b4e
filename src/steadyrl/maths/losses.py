"""PPO's losses with their gradients written out. Pure; free of environments and networks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LOG_RATIO_LIMIT = 20.0  # e^20 is finite with room to spare; a ratio beyond it is wrong anyway


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The clipped surrogate, sample by sample."""

    weights: Tensor  # d(r A) / d(log p), 0 where clipped: how much to raise its probability
    log_ratios: Tensor


def clipped_surrogate(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, clip_range: float
) -> Surrogate:
    """min(r A, clip(r, 1 - e, 1 + e) A), to be raised.

    Where the clipped term is the smaller one the gradient is exactly zero.
    """
    logs = log_probs - old_log_probs
    ratios = logs.exp()
    plain = ratios * advantages
    bounded = ratios.clamp_(1.0 - clip_range, 1.0 + clip_range).mul_(advantages)
    return Surrogate(torch.where(plain <= bounded, plain, 0.0), logs)


def describe_ratios(
    log_ratios: Tensor, advantages: Tensor, clip_range: float, counted: Tensor | None = None
) -> dict[str, list[float]]:
    """How far probabilities have moved, for each row of samples, or for those that are counted.

    `kl` is the k3 estimator of KL(old || new): mean(ratio - 1 - ln ratio), never negative.
    """
    ratios = log_ratios.exp()
    moved = ratios - 1.0
    bounded = ratios.clamp(1.0 - clip_range, 1.0 + clip_range) * advantages
    losses = -torch.minimum(ratios * advantages, bounded)
    clipped = (moved.abs() > clip_range).float()
    sizes = log_ratios.abs()
    if counted is not None:
        sizes = torch.where(counted, sizes, 0.0)
    return {
        "policy.loss": _means(losses, counted),
        "policy.clip_fraction": _means(clipped, counted),
        "policy.ratio_max": sizes.amax(dim=1).tolist(),
        "kl": _means(moved - log_ratios, counted),
    }


def _means(rows: Tensor, counted: Tensor | None) -> list[float]:
    if counted is not None:
        rows = torch.where(counted, rows, 0.0) * (rows.shape[1] / counted.sum(1, keepdim=True))
    found: list[float] = rows.mean(dim=1).tolist()
    return found


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None
) -> tuple[Tensor, Tensor]:
    """What each sample's loss is the square of, and half of that square's slope.

    With a clip the worse of the free and the bounded error; a bounded value that is the worse one
    and lies at its bound has no gradient.
    """
    errors = values - returns
    if clip is None:
        return errors, errors
    moved = values - old_values
    bounded_errors = old_values + moved.clamp(-clip, clip) - returns
    worse = bounded_errors.abs() > errors.abs()
    inside = moved.abs() <= clip
    slopes = torch.where(worse, bounded_errors * inside, errors)
    return torch.where(worse, bounded_errors, errors), slopes


def normalised(advantages: Tensor) -> Tensor:
    """Mean 0, variance 1; of several rows, each by itself."""
    means, spreads = advantages.mean(-1, keepdim=True), advantages.std(-1, keepdim=True)
    return (advantages - means) / (spreads + 1e-8)


def policy_weights(now: Tensor, then: Tensor, bound: float) -> Tensor:
    """p(now) / p(then) from log-probabilities, at most `bound`."""
    return (now - then).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp().clamp(max=bound)
