"""The losses of behaviour cloning and their slopes, written out. Pure.

A Gaussian policy gives a mean and a log standard deviation per action component. The negative
log-likelihood falls without bound as the deviation shrinks on data that is fitted well, and its
curvature grows as 1 / sigma^2: that is why it can jump while the squared error stands still.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Objective = Literal["nll", "mse", "beta_nll"]
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
LARGEST_LOG_STD = 2.0
EDGE = 1.0 - 1e-6  # of the open interval that tanh maps to


@dataclass(frozen=True, slots=True)
class Terms:
    """Losses of a batch per sample and component, shape (rows, components)."""

    nll: Tensor
    squared: Tensor  # error of the action, as the environment would see it
    log_std: Tensor  # within its bounds, broadcast to the batch

    @property
    def loss(self) -> float:
        """Mean over the samples of the summed negative log-likelihood."""
        return float(self.nll.sum(1).mean())

    @property
    def mse(self) -> float:
        """Mean squared error of the actions."""
        return float(self.squared.mean())


def bounded(log_std: Tensor, floor: float) -> Tensor:
    """Within the floor and the ceiling."""
    return log_std.clamp(math.log(floor), LARGEST_LOG_STD)


def terms(mean: Tensor, log_std: Tensor, actions: Tensor, *, floor: float, squash: bool) -> Terms:
    """What a batch costs, by sample and component.

    With `squash` the Gaussian lives before a tanh: actions are taken back through it, and the
    likelihood pays for the stretch.
    """
    held = bounded(log_std, floor).expand_as(mean)
    scaled = ((unsquashed(actions) if squash else actions) - mean) * torch.exp(-held)
    return _terms(mean, held, scaled, actions, squash)


def terms_and_slopes(
    mean: Tensor,
    log_std: Tensor,
    actions: Tensor,
    *,
    objective: Objective,
    floor: float,
    squash: bool,
    beta: float,
) -> tuple[Terms, Tensor, Tensor]:
    """The same, and the gradient of the mean loss by means and log deviations (rows, components).

    `beta_nll` weighs every component's likelihood by sigma^(2 beta), held constant (Seitzer et
    al., 2022): small deviations no longer get large gradients. Beyond its bounds a log deviation
    has a slope only if that leads back.
    """
    wanted = unsquashed(actions) if squash else actions
    held = bounded(log_std, floor).expand_as(mean)
    inverse = torch.exp(-held)
    scaled = (wanted - mean) * inverse
    found = _terms(mean, held, scaled, actions, squash)
    if objective == "mse":
        by_mean = (mean - wanted) * (2.0 / wanted.numel())
        return found, by_mean, torch.zeros_like(by_mean)
    weighted = scaled / len(mean)
    by_mean = -weighted * inverse
    by_log_std = 1.0 / len(mean) - weighted * scaled
    # Descent moves against the slope: at a bound only steps back inside count.
    stuck_low = (log_std <= math.log(floor)) & (by_log_std > 0)
    stuck_high = (log_std >= LARGEST_LOG_STD) & (by_log_std < 0)
    by_log_std = by_log_std.masked_fill(stuck_low | stuck_high, 0.0)
    if objective == "beta_nll":
        weight = torch.exp(2.0 * beta * held)
        by_mean, by_log_std = by_mean * weight, by_log_std * weight
    return found, by_mean, by_log_std


def _terms(mean: Tensor, held: Tensor, scaled: Tensor, actions: Tensor, squash: bool) -> Terms:
    nll = 0.5 * scaled * scaled + held + HALF_LOG_2PI
    if squash:
        nll = nll + torch.log1p(-(actions.clamp(-EDGE, EDGE) ** 2))
    reached = torch.tanh(mean) if squash else mean
    return Terms(nll, (reached - actions) ** 2, held)


def unsquashed(actions: Tensor) -> Tensor:
    """Back through tanh; actions at the very edge are taken a little inside."""
    return torch.atanh(actions.clamp(-EDGE, EDGE))
