"""PPO's mathematics in NumPy, for minibatches so small that torch's calls outweigh their work.

The same functions as in losses.py, categorical.py and policies.py; a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.maths.categorical import Categorical
from steadyrl.maths.policies import LOG_2PI, DiagonalGaussian, Policy

Floats = NDArray[np.float32]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The clipped surrogate, sample by sample."""

    weights: Floats  # d(r A) / d(log p), 0 where clipped: how much to raise its probability
    log_ratios: Floats


def clipped_surrogate(
    log_probs: Floats, old_log_probs: Floats, advantages: Floats, clip_range: float
) -> Surrogate:
    """min(r A, clip(r, 1 - e, 1 + e) A), to be raised."""
    logs = log_probs - old_log_probs
    ratios = np.exp(logs)
    plain = ratios * advantages
    bounded = np.minimum(np.maximum(ratios, 1.0 - clip_range), 1.0 + clip_range)
    bounded *= advantages
    np.putmask(plain, ~(plain <= bounded), 0.0)
    return Surrogate(plain, logs)


def value_loss(
    values: Floats, old_values: Floats, returns: Floats, clip: float | None
) -> tuple[Floats, Floats]:
    """What each sample's loss is the square of, and half of that square's slope."""
    errors = values - returns
    if clip is None:
        return errors, errors
    moved = values - old_values
    bounded = old_values + np.clip(moved, -clip, clip) - returns
    worse = np.abs(bounded) > np.abs(errors)
    slopes = np.where(worse, bounded * (np.abs(moved) <= clip), errors)
    return np.where(worse, bounded, errors), slopes


class TakenChoices:
    """Discrete actions that were taken, by logits."""

    def __init__(self, outputs: Floats, _extra: Floats, actions: Array) -> None:
        logits = outputs - np.maximum.reduce(outputs, 1, keepdims=True)
        raised = np.exp(logits)
        whole = np.add.reduce(raised, 1, keepdims=True)
        self._logs = logits - np.log(whole)
        self._probabilities = raised / whole
        self._chosen = (actions[:, None] == np.arange(outputs.shape[1])).astype(np.float32)
        self.log_probs: Floats = np.add.reduce(self._logs * self._chosen, 1)

    def gradient(self, weights: Floats, entropy_weight: float) -> tuple[Floats, Floats | None]:
        """W (one-hot - p) - c p (log p + H)."""
        probabilities, logs = self._probabilities, self._logs
        slope = (self._chosen - probabilities) * weights[:, None]
        if entropy_weight:
            entropy = -np.add.reduce(probabilities * logs, 1, keepdims=True)
            slope -= entropy_weight * probabilities * (logs + entropy)
        return slope, None


class TakenNumbers:
    """Continuous actions that were taken, by means, and log deviations alike in every state."""

    def __init__(self, outputs: Floats, extra: Floats, actions: Array) -> None:
        self._inverse = np.exp(-extra)
        self._scaled = (actions - outputs) * self._inverse
        self._squares = self._scaled * self._scaled
        constant = np.add.reduce(extra) + 0.5 * LOG_2PI * len(extra)
        self.log_probs: Floats = -0.5 * np.add.reduce(self._squares, 1) - np.float32(constant)

    def gradient(self, weights: Floats, entropy_weight: float) -> tuple[Floats, Floats | None]:
        """W (a - m) / s^2 for the means, w ((a - m)^2 / s^2 - 1) + c for the log deviations."""
        column = weights[:, None]
        free = np.add.reduce(column * (self._squares - 1.0), 0) + entropy_weight * len(weights)
        return column * self._scaled * self._inverse, free


def taken_by(policy: Policy) -> type[TakenChoices] | type[TakenNumbers] | None:
    """How a policy sees actions here; None: not at all."""
    if type(policy) is Categorical:
        return TakenChoices
    return TakenNumbers if type(policy) is DiagonalGaussian else None
