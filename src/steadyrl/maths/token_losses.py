"""Losses of tokens, normalised by the whole batch and never by the part at hand.

Each function divides by `total`, a number of tokens (or of sequences) of the *whole* batch. The
losses of its parts therefore add up to the loss of the batch, and so do their gradients, however
the batch is split into micro-batches or over processes. A mean of means would not: parts of
unequal length would weigh the same.

Arrays are (sequences, time); `mask` is true for the tokens that are trained. What stands outside
the mask is never looked at, not even if it is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from steadyrl.maths.losses import LOG_RATIO_LIMIT

K3_LIMIT = 10.0

KLKind = Literal["k1", "k2", "k3"]


@dataclass(frozen=True, slots=True)
class PolicyStatistics:
    """Sums over the trained tokens; add them up over micro-batches with `+`."""

    tokens: Tensor
    clipped_low: Tensor  # ratio below its bound, and the gradient cut off for it
    clipped_high: Tensor
    dual_clipped: Tensor
    kl: Tensor  # k3 of KL(old || new): ratio - 1 - ln ratio, never negative
    log_ratio_min: Tensor  # infinite if there was no token
    log_ratio_max: Tensor

    @property
    def furthest(self) -> float:
        """The largest logarithm of a ratio, of either sign; 0 if there was no token."""
        if not self.tokens:
            return 0.0
        return max(abs(float(self.log_ratio_min)), abs(float(self.log_ratio_max)))

    def __add__(self, other: PolicyStatistics) -> PolicyStatistics:
        return PolicyStatistics(
            tokens=self.tokens + other.tokens,
            clipped_low=self.clipped_low + other.clipped_low,
            clipped_high=self.clipped_high + other.clipped_high,
            dual_clipped=self.dual_clipped + other.dual_clipped,
            kl=self.kl + other.kl,
            log_ratio_min=torch.minimum(self.log_ratio_min, other.log_ratio_min),
            log_ratio_max=torch.maximum(self.log_ratio_max, other.log_ratio_max),
        )


def clipped_policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    total: float,
    dual_clip: float | None = None,
    per_sequence: bool = False,
    weights: Tensor | None = None,
    counted: Tensor | None = None,
) -> tuple[Tensor, PolicyStatistics]:
    """-sum(w min(r A, clip(r, 1 - low, 1 + high) A)) / total, and what happened to the ratios.

    `advantages` are per token, or (sequences, 1); so are `weights`, if tokens do not count alike.
    What happened is told of the tokens that are `counted`, all if that is not given. With
    `dual_clip` = c a token of negative advantage costs at most c |A|, so that one improbable token
    cannot rule the batch (Ye et al., 2020). With `per_sequence` each sequence weighs the same, and
    `total` counts sequences.
    """
    logs = torch.where(mask, log_probs - old_log_probs, 0.0)
    logs = logs.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    advantages = torch.where(mask, advantages, 0.0)
    ratios = logs.exp()
    plain = ratios * advantages
    bounded = ratios.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages
    gained = torch.minimum(plain, bounded)
    at_floor = torch.zeros_like(mask)
    if dual_clip is not None:
        floor = dual_clip * advantages
        at_floor = (advantages < 0) & (gained < floor)
        gained = torch.where(at_floor, floor, gained)
    if weights is not None:
        gained = gained * torch.where(mask, weights, 0.0)
    loss = -token_sum(gained, mask, per_sequence=per_sequence) / total
    with torch.no_grad():
        counted = mask if counted is None else counted & mask
        cut = counted & (bounded < plain)
        statistics = PolicyStatistics(
            tokens=counted.sum(),
            clipped_low=(cut & (advantages < 0)).sum(),
            clipped_high=(cut & (advantages > 0)).sum(),
            dual_clipped=(at_floor & counted).sum(),
            kl=torch.where(counted, ratios - 1.0 - logs, 0.0).sum(),
            log_ratio_min=torch.where(counted, logs, torch.inf).min(),
            log_ratio_max=torch.where(counted, logs, -torch.inf).max(),
        )
    return loss, statistics


@dataclass(frozen=True, slots=True)
class ValueStatistics:
    """Sums over the trained tokens; add them up over micro-batches with `+`."""

    tokens: Tensor
    clipped: Tensor  # the bounded value was the worse one, and its gradient cut off
    squared_errors: Tensor  # of the values themselves, without the bound

    def __add__(self, other: ValueStatistics) -> ValueStatistics:
        return ValueStatistics(
            tokens=self.tokens + other.tokens,
            clipped=self.clipped + other.clipped,
            squared_errors=self.squared_errors + other.squared_errors,
        )


def clipped_value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    *,
    clip: float | None,
    total: float,
    weights: Tensor | None = None,
) -> tuple[Tensor, ValueStatistics]:
    """sum(w squared errors) / total; with a clip the worse of the free and the bounded value's."""
    errors = torch.where(mask, values - returns, 0.0)
    squares, cut = errors.square(), torch.zeros_like(mask)
    if clip is not None:
        moved = torch.where(mask, values - old_values, 0.0)
        bounded = old_values + moved.clamp(-clip, clip) - returns
        bounded = torch.where(mask, bounded, 0.0).square()
        cut = (bounded > squares) & (moved.abs() > clip)
        squares = torch.maximum(squares, bounded)
    with torch.no_grad():
        statistics = ValueStatistics(mask.sum(), cut.sum(), errors.square().sum())
    if weights is not None:
        squares = squares * torch.where(mask, weights, 0.0)
    return squares.sum() / total, statistics


def kl_estimates(
    log_probs: Tensor,
    reference: Tensor,
    mask: Tensor,
    kind: KLKind,
    *,
    straight_through: bool = False,
) -> Tensor:
    """Estimate of KL(policy || reference) at each token the policy chose; 0 outside the mask.

    With d = ln p - ln reference: k1 = d, unbiased, of either sign, for a penalty in the reward (its
    gradient says nothing about the KL). k2 = d^2 / 2, whose gradient d * grad ln p is the KL's own
    in expectation. k3 = e^-d - 1 + d, unbiased and never negative, whose gradient is that of
    the reverse divergence. `straight_through` takes the value of `kind` with k2's gradient.

    Differences are bounded by 20 and k3 by 10, because e^-d overflows; k2's gradient is bounded
    with them but goes on pulling back.
    """
    differences = torch.where(mask, log_probs - reference, 0.0)
    bounded = differences.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    if kind == "k1":
        estimates = bounded
    elif kind == "k2":
        estimates = 0.5 * bounded.square()
    else:
        estimates = ((-bounded).exp() - 1.0 + bounded).clamp(max=K3_LIMIT)
    if kind == "k2" or straight_through:
        pull = bounded.detach() * differences
        estimates = estimates.detach() + pull - pull.detach()
    return estimates


def token_sum(values: Tensor, mask: Tensor, *, per_sequence: bool = False) -> Tensor:
    """Sum over the mask; `per_sequence` the sum of every sequence's own mean (0 if it is empty)."""
    kept = torch.where(mask, values, 0.0)
    if not per_sequence:
        return kept.sum()
    return (kept.sum(dim=1) / mask.sum(dim=1).clamp(min=1)).sum()
