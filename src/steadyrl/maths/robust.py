"""Robust statistics relative to a run's own past. Pure functions on short arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAD_TO_SIGMA = 1.4826  # of a normal distribution


def median(values: Floats | Sequence[float]) -> float:
    """What np.median says, in a tenth of the time on short arrays: rules ask it all the time."""
    ordered = np.sort(values)
    count = len(ordered)
    if not count or math.isnan(ordered[-1]):  # NaNs are sorted to the end
        return math.nan
    upper = float(ordered[count // 2])
    return upper if count % 2 else (float(ordered[count // 2 - 1]) + upper) / 2.0


def median_and_spread(values: Floats) -> tuple[float, float]:
    """Median, and median absolute deviation scaled to a normal's sigma."""
    center = median(values)
    return center, MAD_TO_SIGMA * median(np.abs(values - center))


def robust_z(value: float, past: Floats) -> float:
    """How many robust sigmas a value lies from its past; infinite if the past never moved."""
    center, spread = median_and_spread(past)
    if spread > 0:
        return (value - center) / spread
    return 0.0 if value == center else math.copysign(math.inf, value - center)


@dataclass(frozen=True, slots=True)
class Trend:
    """Theil-Sen slope per item with the Mann-Kendall test's two-sided p-value."""

    slope: float
    p_value: float


def trend(values: Floats) -> Trend:
    """Median of all pairwise slopes, and whether order and value go together by chance."""
    count = len(values)
    if count < 3:
        return Trend(0.0, 1.0)
    early, late, between = _pairs(count)
    rises = values[late] - values[early]
    slope = median(rises / between)
    score = float(np.sign(rises).sum())
    variance = count * (count - 1) * (2 * count + 5)
    if not rises.all():
        _, ties = np.unique(values, return_counts=True)
        variance -= int((ties * (ties - 1) * (2 * ties + 5)).sum())
    if variance <= 0:
        return Trend(slope, 1.0)
    z = (score - math.copysign(1.0, score)) / math.sqrt(variance / 18.0) if score else 0.0
    return Trend(slope, math.erfc(abs(z) / math.sqrt(2.0)))


@lru_cache(maxsize=8)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Every item with every later one, and how far apart they are."""
    early, late = np.triu_indices(count, k=1)
    return early, late, late - early


def page_hinkley_drop(values: Floats, *, slack: float) -> float:
    """Largest cumulated fall below the running mean, in units of the noise between neighbours.

    The noise is estimated from successive differences, which a slow trend hardly touches; `slack`
    (in the same units) is what each item may fall short without counting.
    """
    if len(values) < 3:
        return 0.0
    noise = MAD_TO_SIGMA * median(np.abs(np.diff(values))) / math.sqrt(2.0)
    if noise == 0:
        noise = float(np.std(values)) or 1.0
    means = np.cumsum(values) / np.arange(1, len(values) + 1)
    shortfall = (means - values) / noise - slack
    level = worst = 0.0
    for amount in shortfall.tolist():
        level = max(0.0, level + amount)
        worst = max(worst, level)
    return worst


def reversals(values: Floats, least: float) -> int:
    """How often a course turned back, counting only ways of at least `least`."""
    if not len(values):
        return 0
    legs, direction = 0, 0
    low = high = float(values[0])
    for value in values.tolist():
        low, high = min(low, value), max(high, value)
        if direction <= 0 and value - low >= least:
            legs, direction, high = legs + 1, 1, value
        elif direction >= 0 and high - value >= least:
            legs, direction, low = legs + 1, -1, value
    return max(0, legs - 1)
