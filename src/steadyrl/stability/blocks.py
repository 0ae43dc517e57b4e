"""A return from its first to its last value, in a memory of fixed size.

The window that detectors look through forgets; whether a run has learned, kept what it learned or
came back from a dip can only be said of the whole of it. So a return's values are gathered in
blocks, 32 to 64 of equal size whatever the length of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from steadyrl.stability.course import Course, Floats

MOST = 64  # blocks; when there are so many, neighbours are joined
LARGEST = 1e100  # a return beyond it is none, and its square no number


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
