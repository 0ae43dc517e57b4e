"""How a return went from the first to the last value: learned, kept, lost, came back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steadyrl.maths.robust import MAD_TO_SIGMA, median, trend

Floats = NDArray[np.float64]
Learned = Literal["yes", "no", "cannot tell"]

FEWEST = 10  # values of which anything is said
ENDS = 0.1  # share of the blocks that make up the end, and over which the best is a mean
BEGIN = 0.05  # share that makes up the beginning, at least two values
CLEAR = 3.0  # standard errors between beginning and end that chance does not make
WITHIN = 2.0  # standard errors that chance makes
# Of the spread of single values: a gain below it, however certain, is hardly one. 75 public runs
# that ended well gained 0.5 and more; DQN on CartPole with a discount of 0.1 gained 0.2.
HARDLY = 0.3
P_VALUE = 0.003  # of an upward trend
RISES = 30  # values, of which a trend alone is believed; a rise of fewer must be CLEAR
FEW = 10.0  # values at which the spread is known half as well
WANDERS = 4.0  # a running mean wanders further than its neighbours differ
# What a mean over n values wanders by is 1.2 times the root of n times what its neighbours tell;
# 25 is how many rows share an episode in Stable-Baselines3's logs of DQN, SAC and their kin.
SHARED = 6.0
TURNS_BACK = (
    -0.2
)  # correlation of neighbouring differences: above it values are no independent ones
LOST = 0.5  # of the gain so far: deeper is a dip
ROUNDING = 1e-9  # of the largest mean: means of equal numbers differ by less


@dataclass(frozen=True, slots=True)
class Dip:
    """A loss of most of what had been gained, that was made good again."""

    begun: int  # in the run's unit
    over: int
    lost: float  # share of the gain so far


@dataclass(frozen=True)
class Course:
    """A return from the beginning to now, block by block."""

    values: int
    ends: Floats  # where each block ends, in the run's unit
    means: Floats
    sizes: Floats
    squares: Floats  # sum of squared differences between neighbours inside a block
    apart: bool = False  # known to be no running mean

    @cached_property
    def errors(self) -> Floats:
        """How far each block's mean is off by chance.

        By the neighbours inside a block, in a block and the ones beside it; but never less than
        by how restlessly the means themselves move: values that are running means already differ
        little from their neighbours and yet wander.
        """
        count = len(self.means)
        rounding = ROUNDING * float(np.abs(self.means).max(initial=0.0))
        wander = max(_wander(self.means, self.independent), rounding)
        if float(self.sizes[0]) < 2:
            return np.full(count, wander)
        pairs = np.maximum(self.sizes - 1, 1)
        variances = _smoothed(self.squares / pairs / 2.0, 2)
        inside: Floats = np.sqrt(variances / self.sizes)
        return np.maximum(inside, wander)

    @cached_property
    def independent(self) -> bool:
        """Whether the means are no running means, of which neighbours share their values.

        Independent ones turn back at every step: neighbouring differences have a correlation of
        -0.5, whatever the trend.
        """
        if self.apart:
            return True
        steps = np.diff(self.means)
        steps = steps - steps.mean() if len(steps) else steps
        power = float((steps**2).sum())
        return not power > 0 or float((steps[1:] * steps[:-1]).sum()) / power < TURNS_BACK

    @cached_property
    def spread(self) -> float:
        """How far single values lie apart at the beginning and the end; 0 of running means."""
        if not self.apart:
            return 0.0
        ends = np.r_[: self.beginning, len(self.means) - self.ending : len(self.means)]
        return float(np.sqrt(np.mean(self.errors[ends] ** 2 * self.sizes[ends])))

    @property
    def ending(self) -> int:
        """Blocks that make up the end."""
        return max(1, min(len(self.means), max(3, round(ENDS * len(self.means)))))

    @property
    def beginning(self) -> int:
        """Blocks that make up the beginning."""
        return max(1, min(len(self.means), max(2, round(BEGIN * len(self.means)))))

    @cached_property
    def start(self) -> float:
        """Where it began."""
        return float(self.means[: self.beginning].mean())

    @cached_property
    def final(self) -> float:
        """Where it stands."""
        return float(self.means[-self.ending :].mean())

    @cached_property
    def smooth(self) -> Floats:
        """Means over as many blocks as make up the end, each with those before it."""
        return _trailing(self.means, self.ending)

    @cached_property
    def best(self) -> float:
        """The highest that it was for as long as the end is."""
        return max(float(self.smooth.max()), self.start)

    @cached_property
    def noise(self) -> float:
        """Standard error of the difference between the end and the beginning."""
        first = self.errors[: self.beginning]
        last = self.errors[-self.ending :]
        if not self.independent:  # a mean of running means is no better than one of them
            return math.hypot(float(first.max()), float(last.max()))
        few = 1.0 + FEW / len(self.means)  # of few values the spread itself is not well known
        return few * math.hypot(_error_of_mean(first), _error_of_mean(last))

    @cached_property
    def kept(self) -> float:
        """The share of the best gain that is left; NaN if nothing was gained beyond chance."""
        gained = self.best - self.start
        return (self.final - self.start) / gained if gained > CLEAR * self.noise else math.nan

    @cached_property
    def fell(self) -> bool:
        """Whether the end stands below the best by more than chance makes of the highest of many.

        By the chance that there is at the top and at the end: returns of a good policy are often
        far noisier than those of the random one that a run begins with.
        """
        top, width = int(self.smooth.argmax()), self.ending
        errors = self.errors
        if self.independent:
            bends = np.diff(self.means, 2, prepend=self.means[:1], append=self.means[-1:])
            errors = np.maximum(errors, np.sqrt(_smoothed(bends**2, width) / 6.0))
        high, last = errors[top : top + width], errors[-width:]
        if not self.independent:
            return self.best - self.final > CLEAR * math.hypot(high.max(), last.max())
        chance = math.hypot(_error_of_mean(high), _error_of_mean(last))
        few = 1.0 + FEW / len(self.means)
        return self.best - self.final > CLEAR * few * chance

    @cached_property
    def learned(self) -> Learned:
        """Whether it stands higher than it began, beyond chance."""
        if self.values < FEWEST:
            return "cannot tell"
        gain = self.final - self.start
        if float(np.ptp(self.means)) == 0.0:
            return "no"
        much = gain > HARDLY * self.spread
        if gain > CLEAR * self.noise:
            return "yes" if much else "cannot tell"
        upward = trend(self.means)
        rising = gain > 0 and upward.slope > 0 and upward.p_value < P_VALUE
        rising = rising and self.values >= RISES
        if rising and much and (self.independent or gain > WITHIN * self.noise):
            return "yes"
        return "cannot tell" if gain > WITHIN * self.noise else "no"

    @cached_property
    def dips(self) -> list[Dip]:
        """Losses of most of the gain that were made good, of a gain that mattered in the end."""
        found: list[Dip] = []
        total, high, begun, deepest = self.best - self.start, self.start, None, 0.0
        width = max(1, self.ending // 2)
        means = _trailing(self.means, width)
        errors = self.errors / math.sqrt(width if self.independent else 1)
        for mean, end, error in zip(
            means, self.ends[width - 1 :], errors[width - 1 :], strict=True
        ):
            gained, chance = high - self.start, CLEAR * float(error)
            if gained > max(LEAST_SHARE * total, chance):
                lost = (high - float(mean)) / gained
                if lost > LOST and high - float(mean) > chance:
                    begun = int(end) if begun is None else begun
                    deepest = max(deepest, lost)
                elif begun is not None and lost < LOST / 2:
                    found.append(Dip(begun, int(end), deepest))
                    begun, deepest = None, 0.0
            high = max(high, float(mean))
        return found


LEAST_SHARE = 0.3  # of the whole gain: less is a wiggle of a policy that knows nothing yet


def _trailing(values: Floats, width: int) -> Floats:
    """Means of so many values, each with those before it."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    found: Floats = (sums[width:] - sums[:-width]) / width
    return found


def _error_of_mean(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2) / len(errors)))


def _smoothed(values: Floats, reach: int) -> Floats:
    """Each value with its neighbours on both sides."""
    kernel = np.ones(2 * reach + 1)
    weights = np.convolve(np.ones_like(values), kernel, mode="same")
    found: Floats = np.convolve(values, kernel, mode="same") / weights
    return found


def _wander(means: Floats, independent: bool) -> float:
    """Spread of the means around a course without bends, by second differences."""
    if len(means) < 4:
        return float(np.std(means)) if len(means) > 1 else 0.0
    bends = np.diff(means, 2)
    usual = MAD_TO_SIGMA * median(np.abs(bends)) * (1.0 if independent else SHARED)
    # Returns that are mostly the same (a sparse reward) have no usual bend, and yet chance.
    return (usual or float(np.sqrt(np.mean(bends**2)))) / math.sqrt(6.0)
