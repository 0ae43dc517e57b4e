"""Statistics over seeds and tasks: means, IQM, probability of improvement, with intervals.

All intervals are percentile bootstraps from an explicit generator. Scores come as one array per
task (a stratum): resampling draws seeds within a task, never across tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float

    def excludes(self, point: float) -> bool:
        """Whether the interval lies to one side of a point."""
        return self.low > point or self.high < point

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def bootstrap_mean(
    values: Sequence[float], *, seed: int = 0, level: float = 0.95
) -> tuple[float, float, float]:
    """Mean with a percentile-bootstrap interval: (mean, low, high)."""
    estimate = bootstrap([np.asarray(values, dtype=float)], _mean, seed=seed, level=level)
    return estimate.value, estimate.low, estimate.high


def bootstrap(
    strata: Sequence[Floats],
    statistic: Callable[[Floats], Floats],
    *,
    seed: int = 0,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """A statistic of all scores together, resampled within each stratum.

    `statistic` reduces the last axis, so that all resamples are computed at once.
    """
    generator = np.random.default_rng(seed)
    drawn = [stratum[resampled(generator, len(stratum), resamples)] for stratum in strata]
    value = float(statistic(np.concatenate(strata)))
    low, high = _quantiles(statistic(np.concatenate(drawn, axis=1)), level)
    return Estimate(value, low, high)


def iqm(scores: Floats) -> Floats:
    """Mean of the middle half along the last axis (Agarwal et al., 2021)."""
    ordered = np.sort(scores, axis=-1)
    count = ordered.shape[-1]
    weights = np.clip(np.arange(1, count + 1) - 0.25 * count, 0.0, 1.0)
    weights = np.minimum(weights, weights[::-1])
    result: Floats = (ordered * weights).sum(axis=-1) / weights.sum()
    return result


def probability_of_improvement(
    ours: Sequence[Floats], theirs: Sequence[Floats], *, seed: int = 0, level: float = 0.95
) -> Estimate:
    """Chance that a random run of ours beats one of theirs on the same task; ties count half."""
    generator = np.random.default_rng(seed)
    values, samples = [], []
    for mine, other in zip(ours, theirs, strict=True):
        wins = (mine[:, None] > other[None]) + 0.5 * (mine[:, None] == other[None])
        rows = resampled(generator, len(mine), RESAMPLES)
        columns = resampled(generator, len(other), RESAMPLES)
        values.append(wins.mean())
        samples.append(_resampled_mean(wins, rows, columns))
    low, high = _quantiles(np.mean(samples, axis=0), level)
    return Estimate(float(np.mean(values)), low, high)


def paired_difference(
    ours: Sequence[Floats], theirs: Sequence[Floats], *, seed: int = 0, level: float = 0.95
) -> Estimate:
    """IQM of ours minus theirs, run by run with the same seed."""
    differences = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    return bootstrap(differences, iqm, seed=seed, level=level)


def wilson(count: int, total: int, *, z: float = 1.96) -> Estimate:
    """A proportion with its Wilson interval."""
    if total == 0:
        return Estimate(math.nan, 0.0, 1.0)
    p = count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    return Estimate(p, max(0.0, middle - half), min(1.0, middle + half))


def resampled(generator: np.random.Generator, count: int, resamples: int) -> NDArray[np.int64]:
    """Indices of `resamples` samples with replacement."""
    return generator.integers(count, size=(resamples, count))


def _mean(values: Floats) -> Floats:
    result: Floats = values.mean(axis=-1)
    return result


def _resampled_mean(wins: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    """The mean of wins[rows][:, columns] for each pair of samples, through counts of draws."""
    ours = _counts(rows, wins.shape[0])
    theirs = _counts(columns, wins.shape[1])
    result: Floats = np.einsum("bi,ij,bj->b", ours, wins, theirs) / wins.size
    return result


def _counts(drawn: NDArray[np.int64], size: int) -> Floats:
    counts = np.zeros((len(drawn), size))
    np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
    return counts


def _quantiles(samples: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
