"""Statistics over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000


def bootstrap_mean(
    values: Sequence[float], *, seed: int = 0, level: float = 0.95
) -> tuple[float, float, float]:
    """Mean with a percentile-bootstrap interval: (mean, low, high)."""
    sample = np.asarray(values, dtype=float)
    generator = np.random.default_rng(seed)
    drawn = generator.integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(sample.mean()), float(low), float(high)
