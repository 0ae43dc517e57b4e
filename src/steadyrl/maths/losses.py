"""PPO's losses with their gradients written out. Pure; free of environments and networks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LOG_RATIO_LIMIT = 20.0  # e^20 is finite with room to spare; a ratio beyond it is wrong anyway


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """The clipped surrogate of one minibatch."""

    loss: float
    weights: Tensor  # d(-loss) / d(log p) of each sample: how much to raise its probability
    kl: float  # k3 estimator of KL(old || new): mean(ratio - 1 - ln ratio), never negative
    clip_fraction: float
    ratio_max: float  # largest |ln ratio|


def clipped_surrogate(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, clip_range: float
) -> PolicyLoss:
    """-mean(min(r A, clip(r, 1 - e, 1 + e) A)).

    Where the clipped term is the smaller one the gradient is exactly zero.
    """
    logs = log_probs - old_log_probs
    ratios = logs.exp()
    plain = ratios * advantages
    bounded = ratios.clamp(1.0 - clip_range, 1.0 + clip_range) * advantages
    counts = plain <= bounded
    weights = torch.where(counts, plain, torch.zeros_like(plain)) / len(plain)
    moved = ratios - 1.0
    clipped = (moved.abs() > clip_range).float()
    # One reduction for three means: at 64 samples every operation costs as much as its call.
    rows = torch.stack((torch.minimum(plain, bounded), moved - logs, clipped))
    gained, kl, share = rows.mean(dim=1).tolist()
    return PolicyLoss(
        loss=-gained, weights=weights, kl=kl, clip_fraction=share, ratio_max=float(logs.abs().max())
    )


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None
) -> tuple[float, Tensor]:
    """Mean squared error and its gradient; with a clip the worse of the free and the bounded one.

    A bounded value that is the worse one and lies at its bound has no gradient.
    """
    errors = values - returns
    if clip is None:
        return float((errors * errors).mean()), errors * (2.0 / len(errors))
    moved = values - old_values
    bounded_errors = old_values + moved.clamp(-clip, clip) - returns
    worse = bounded_errors.abs() > errors.abs()
    inside = moved.abs() <= clip
    squares = torch.maximum(errors**2, bounded_errors**2)
    slopes = torch.where(worse, bounded_errors * inside, errors)
    return float(squares.mean()), slopes * (2.0 / len(errors))


def normalised(advantages: Tensor) -> Tensor:
    """Mean 0, variance 1."""
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def policy_weights(now: Tensor, then: Tensor, bound: float) -> Tensor:
    """p(now) / p(then) from log-probabilities, at most `bound`."""
    return (now - then).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp().clamp(max=bound)
