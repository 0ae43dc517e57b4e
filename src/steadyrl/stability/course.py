"""How a return went from the first to the last value, in a memory of fixed size.

The window that detectors look through forgets; whether a run has learned, kept what it learned or
came back from a dip can only be said of the whole of it. So a return's values are gathered in
blocks, 32 to 64 of equal size whatever the length of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steadyrl.maths.robust import MAD_TO_SIGMA, median, trend

Floats = NDArray[np.float64]
Learned = Literal["yes", "no", "cannot tell"]

MOST = 64  # blocks; when there are so many, neighbours are joined
LARGEST = 1e100  # a return beyond it is none, and its square no number
FEWEST = 10  # values of which anything is said
ENDS = 0.1  # share of the blocks that make up the end, and over which the best is a mean
BEGIN = 0.05  # share that makes up the beginning, at least two values
CLEAR = 3.0  # standard errors between beginning and end that chance does not make
WITHIN = 2.0  # standard errors that chance makes
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


class Blocks:
    """A growing series in at most MOST means of equally many values."""

    def __init__(self, *, apart: bool = False) -> None:
        """`apart`: no two values share an episode, as those of a running mean do."""
        self._apart = apart
        self.size = 1  # values in a full block
        self._sums: list[float] = []
        self._squares: list[float] = []  # of the differences between neighbours
        self._ends: list[float] = []  # in the run's unit
        self._sum = self._square = 0.0
        self._count = 0
        self._last = math.nan
        self._end = 0.0

    @classmethod
    def filled(
        cls, parts: Iterable[tuple[Floats, Floats]], count: int, *, apart: bool = False
    ) -> Blocks:
        """As if every value had been appended: but for the last digits the same.

        They come part by part: where, and what; `count` are those of all parts that are returns.
        """
        made = cls(apart=apart)
        while count // made.size >= MOST:
            made.size *= 2
        rest, seen, size = np.empty((3, 0)), 0, made.size
        for takens, values in parts:
            known = is_return(values)
            takens, values = takens[known], values[known]
            squares = _squares(values, seen, made._last)
            seen += len(values)
            if len(values):
                made._last, made._end = float(values[-1]), float(takens[-1])
            held = np.concatenate([rest, np.stack([takens, values, squares])], axis=1)
            full = held.shape[1] - held.shape[1] % size
            made._ends += held[0, size - 1 : full : size].tolist()
            made._sums += held[1, :full].reshape(-1, size).sum(axis=1).tolist()
            made._squares += held[2, :full].reshape(-1, size).sum(axis=1).tolist()
            rest = held[:, full:]
        made._sum, made._square = float(rest[1].sum()), float(rest[2].sum())
        made._count = rest.shape[1]
        return made

    def append(self, taken: float, value: float) -> None:
        """Take one more value; what is not finite says nothing of how high a return is."""
        if not abs(value) < LARGEST:
            return
        if self._count:
            self._square += (value - self._last) ** 2
        self._sum, self._last, self._end = self._sum + value, value, taken
        self._count += 1
        if self._count == self.size:
            self._close()

    def _close(self) -> None:
        self._sums.append(self._sum)
        self._squares.append(self._square)
        self._ends.append(self._end)
        self._sum = self._square = 0.0
        self._count = 0
        if len(self._sums) == MOST:
            self._sums = [a + b for a, b in _pairs(self._sums)]
            self._squares = [a + b for a, b in _pairs(self._squares)]
            self._ends = self._ends[1::2]
            self.size *= 2

    @property
    def count(self) -> int:
        """How many values were taken."""
        return len(self._sums) * self.size + self._count

    def course(self) -> Course:
        """What has been so far; a last block that is not full counts from half its size."""
        sums, ends = list(self._sums), list(self._ends)
        squares, counts = list(self._squares), [self.size] * len(self._sums)
        if self._count and (2 * self._count >= self.size or not sums):
            sums.append(self._sum)
            ends.append(self._end)
            squares.append(self._square)
            counts.append(self._count)
        sizes = np.array(counts, dtype=np.float64)
        return Course(
            values=self.count,
            ends=np.array(ends),
            means=np.array(sums) / sizes,
            sizes=sizes,
            squares=np.array(squares),
            apart=self._apart,
        )


def is_return(values: Floats) -> NDArray[np.bool_]:
    """Which values say how high a return is."""
    return np.abs(values) < LARGEST


def _squares(values: Floats, begin: int, before: float) -> Floats:
    """By value: the squared difference to the one before, if they were gathered in one block.

    `begin`: how many there were already, of which `before` was the last.
    """
    at = np.arange(begin, begin + len(values))
    # While the k-th value came, a block held one value up to MOST, then two, four ...
    sizes = np.where(at < MOST, 1, 2 ** (np.log2(np.maximum(at, MOST) // MOST).astype(int) + 1))
    squares: Floats = np.diff(values, prepend=before) ** 2
    return np.where(at % sizes == 0, 0.0, squares)


def _pairs(values: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(values[::2], values[1::2], strict=True))


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
        wander = _wander(self.means, self.independent)
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
    def learned(self) -> Learned:
        """Whether it stands higher than it began, beyond chance."""
        if self.values < FEWEST:
            return "cannot tell"
        gain = self.final - self.start
        if float(np.ptp(self.means)) == 0.0:
            return "no"
        if gain > CLEAR * self.noise:
            return "yes"
        upward = trend(self.means)
        rising = gain > 0 and upward.slope > 0 and upward.p_value < P_VALUE
        rising = rising and self.values >= RISES
        if rising and (self.independent or gain > WITHIN * self.noise):
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
    usual = MAD_TO_SIGMA * median(np.abs(bends))
    if not independent:
        return SHARED * usual / math.sqrt(6.0)
    # Returns that are mostly the same (a sparse reward) have no usual bend, and yet chance.
    return (usual or float(np.sqrt(np.mean(bends**2)))) / math.sqrt(6.0)
