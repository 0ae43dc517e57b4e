"""Statistics over seeds that hold at the number of seeds they are used with.

A percentile bootstrap of a few seeds calls chance clear far too often, so nothing here resamples
with replacement. What decides is exact at any number of seeds: sign flips of paired differences
(`SignFlips`), order statistics for a median (`median_interval`), permuted labels for two groups
(`rank_p`), binomial bounds for a share (`share_interval`). docs/statistics.md has the simulated
error rates and the power of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from steadyrl.core.numbers import amount

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ERROR_RATE = 0.05  # how often chance alone may be called clear
ALL_FLIPS = 12  # up to so many seeds every pattern of signs is looked at, beyond that FLIPS of them
FLIPS = 10_000
LABELLINGS = 200_000  # of two groups; all of them up to ten runs each
EQUAL = 1e-9  # relative: sums that differ by rounding only are ties
BISECTIONS = 40


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; an infinite end means that there are too few seeds for one."""

    value: float
    low: float
    high: float

    def excludes(self, point: float) -> bool:
        """Whether the interval lies to one side of a point."""
        return self.low > point or self.high < point

    @property
    def told(self) -> str:
        """In words, for a sentence."""
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return f"{amount(self.value)} (too few seeds for an interval)"
        return f"{amount(self.value)} ({amount(self.low)} to {amount(self.high)})"

    def __format__(self, spec: str) -> str:
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return f"{self.value:{spec}} [too few seeds]"
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Is the mean of paired differences other than 0? Looked at after each number in `looks`.

    If nothing distinguishes the two sides, every difference is as likely with the other sign. So
    the signs are flipped in all ways, and what was seen is clear if few patterns are as extreme.
    Looking several times is paid for: after n of N seeds at most `error_rate` n / N of the patterns
    may have been called clear, and patterns that were clear at an earlier look are counted there
    (Lan and DeMets' spending, on the permutation distribution itself).
    """

    looks: tuple[int, ...]
    error_rate: float = ERROR_RATE

    def allowed(self, count: int) -> float:
        """The share of patterns that may have been called clear after so many seeds."""
        return self.error_rate * count / self.looks[-1]

    def p_value(self, differences: Floats) -> float:
        """The share of patterns that are clear at an earlier look, or now as extreme as this."""
        return float(self._walk(differences)[0][0])

    def called(self, differences: Floats) -> Flags:
        """Which patterns of signs are called clear by now; the first is the one that was seen."""
        return ~self._walk(differences)[1]

    def _walk(self, differences: Floats) -> tuple[Floats, Flags]:
        """Through all looks so far: every pattern's p-value at the last, and who still waits."""
        count = len(differences)
        patterns = _patterns(count)
        p, waiting = np.ones(len(patterns)), np.ones(len(patterns), dtype=bool)
        for look in (*(look for look in self.looks if look < count), count):
            extremes = np.abs(patterns[:, :look] @ differences[:look])
            p = (1.0 - waiting.mean()) + _tails(extremes, waiting)
            waiting &= p > self.allowed(look)
        return p, waiting

    def clear(self, differences: Floats) -> bool:
        """Whether the difference is clear at this look."""
        return self.p_value(differences) <= self.allowed(len(differences))

    def interval(self, differences: Floats) -> Estimate:
        """The mean, and the differences that this look cannot tell it from.

        Whatever the number of looks so far, all these intervals hold the truth together with
        probability 1 - `error_rate`; 0 lies outside exactly if the difference is clear.
        """
        mean = float(differences.mean())
        ends = []
        for side in (1.0, -1.0):
            turned = side * differences
            far, near = float(turned.min()), float(turned.mean())
            far -= max(abs(far), float(np.ptp(turned)), 1.0) * 1e-6
            if not self.clear(turned - far):
                ends.append(-side * math.inf)
                continue
            for _ in range(BISECTIONS):
                middle = (far + near) / 2
                if self.clear(turned - middle):
                    far = middle
                else:
                    near = middle
            ends.append(side * far)
        return Estimate(mean, ends[0], ends[1])


def fewest_pairs(error_rate: float = ERROR_RATE) -> int:
    """How many paired seeds it takes before any answer can be clear: six at 5 %."""
    return math.ceil(math.log2(2 / error_rate))


def median_interval(values: Sequence[float], error_rate: float = ERROR_RATE / 2) -> Estimate:
    """The median, and the values that it lies between, each end wrong at most `error_rate`.

    The ends are values that were seen: of five seeds the lowest and the highest at 1/32 each. It
    holds for every distribution, for a seed falls on either side of the median like a coin.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    if not count:
        return Estimate(math.nan, math.nan, math.nan)
    cut = sum(bool(stats.binom.cdf(k, count, 0.5) <= error_rate) for k in range(count // 2))
    median = float(np.median(ordered))
    if not cut:
        return Estimate(median, -math.inf, math.inf)
    return Estimate(median, float(ordered[cut - 1]), float(ordered[-cut]))


def rank_p(better: Sequence[float], worse: Sequence[float]) -> float:
    """How often chance alone would set one group of runs so far above the other.

    One-sided, exact: the labels are permuted, ranks are compared, so that one enormous return
    counts no more than the best of all. Four runs that all beat four others: 1 in 70.
    """
    ranks = stats.rankdata([*better, *worse])
    groups = ranks[: len(better)], ranks[len(better) :]
    test = stats.permutation_test(
        groups,
        lambda ours, theirs, axis: ours.mean(axis=axis) - theirs.mean(axis=axis),
        alternative="greater",
        n_resamples=LABELLINGS,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def share_interval(count: int, total: int) -> Estimate:
    """A share of few runs with its exact interval (Clopper and Pearson, 95 %)."""
    if total == 0:
        return Estimate(math.nan, 0.0, 1.0)
    interval = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    return Estimate(count / total, float(interval.low), float(interval.high))


def wilson(count: int, total: int, *, z: float = 1.96) -> Estimate:
    """A share of many runs with its Wilson interval."""
    if total == 0:
        return Estimate(math.nan, 0.0, 1.0)
    p = count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    return Estimate(p, max(0.0, middle - half), min(1.0, middle + half))


def iqm(scores: Floats) -> float:
    """Mean of the middle half (Agarwal et al., 2021)."""
    ordered = np.sort(scores)
    count = len(ordered)
    weights = np.clip(np.arange(1, count + 1) - 0.25 * count, 0.0, 1.0)
    weights = np.minimum(weights, weights[::-1])
    return float((ordered * weights).sum() / weights.sum())


def middle_half(scores: Floats) -> Estimate:
    """The IQM, and between what the middle half of the seeds lies: a spread, not an interval."""
    low, high = np.quantile(scores, [0.25, 0.75])
    return Estimate(iqm(scores), float(low), float(high))


def probability_of_improvement(ours: Floats, theirs: Floats) -> float:
    """Share of pairs in which a run of ours beats one of theirs; ties count half."""
    wins = (ours[:, None] > theirs[None]) + 0.5 * (ours[:, None] == theirs[None])
    return float(wins.mean())


@cache
def _patterns(count: int) -> Floats:
    """Ways to flip signs, by row; the first flips none. All of them, or many."""
    if count <= ALL_FLIPS:
        flipped = (np.arange(2**count)[:, None] >> np.arange(count)[None]) & 1
    else:
        # Seed by seed, so that a pattern's beginning does not change when seeds are added.
        flipped = np.random.default_rng(0).integers(2, size=(count, FLIPS)).T
        flipped[0] = 0
    return np.where(flipped, -1.0, 1.0)


def _tails(extremes: Floats, waiting: Flags) -> Floats:
    """For each pattern: the share of all patterns that still wait and are as extreme as it."""
    ordered = np.sort(extremes[waiting])
    below = np.searchsorted(ordered, extremes * (1 - EQUAL), side="left")
    result: Floats = (len(ordered) - below) / len(extremes)
    return result
