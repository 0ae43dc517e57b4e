"""The newest values of a signal, in a memory of fixed size, and what was ever seen of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from steadyrl.core.coarsen import Places

SPAN = 256
EARLY = 5  # values that make up a signal's beginning
Floats = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.int64)


class Ring:
    """The last SPAN values of one signal, with running extremes over all of them."""

    def __init__(self) -> None:
        self._values = np.empty(SPAN)
        self._indices = np.empty(SPAN, dtype=np.int64)
        self.count = 0
        self.lowest, self.highest = math.inf, -math.inf
        self.early: list[float] = []

    def append(self, index: int, value: float) -> None:
        """Take the value of a Step."""
        at = self.count % SPAN
        self._values[at], self._indices[at] = value, index
        if self.count < EARLY:
            self.early.append(value)
        self.count += 1
        if value < self.lowest:
            self.lowest = value
        if value > self.highest:
            self.highest = value

    @classmethod
    def filled(cls, indices: Places, chunks: Iterable[tuple[Places, Floats]]) -> Ring:
        """As if every value had been appended; they come part by part, with their positions."""
        ring, count = cls(), 0
        places, last = np.empty(0, dtype=np.int64), np.empty(0)
        for positions, values in chunks:
            if count < EARLY:
                ring.early += values[: EARLY - count].tolist()
            # A NaN is neither a lowest nor a highest value, as in append().
            ring.lowest = float(np.fmin.reduce(values, initial=ring.lowest))
            ring.highest = float(np.fmax.reduce(values, initial=ring.highest))
            places = np.concatenate([places, positions[-SPAN:]])[-SPAN:]
            last = np.concatenate([last, values[-SPAN:]])[-SPAN:]
            count += len(values)
        ring.count = count - len(last)
        del ring.early[ring.count :]
        for index, value in zip(indices[places].tolist(), last.tolist(), strict=True):
            ring.append(index, value)
        return ring

    def last(self, count: int = SPAN) -> Floats:
        """Up to so many newest values, oldest first."""
        return _newest(self._values, self.count, count)

    def indices(self) -> NDArray[np.int64]:
        """Of the Steps that what is remembered is from, oldest first."""
        return _newest(self._indices, self.count, SPAN)

    def split(self, index: int) -> tuple[Floats, Floats]:
        """What is remembered: before a Step, and from it on."""
        values, later = self.last(), self.indices() >= index
        return values[~later], values[later]

    def paired(self, other: Ring) -> tuple[Floats, Floats]:
        """What both remember of the same Steps."""
        _, mine, its = np.intersect1d(self.indices(), other.indices(), return_indices=True)
        return self.last()[mine], other.last()[its]

    @property
    def last_raised(self) -> int | None:
        """The newest Step of which the value is above zero."""
        raised = np.flatnonzero(self.last() > 0)
        return int(self.indices()[raised[-1]]) if len(raised) else None

    @property
    def latest(self) -> float:
        """The newest value."""
        return float(self._values[(self.count - 1) % SPAN])

    @property
    def latest_index(self) -> int:
        """The Step that it is of."""
        return int(self._indices[(self.count - 1) % SPAN])


def _newest(ring: NDArray[Number], written: int, count: int) -> NDArray[Number]:
    """A copy of the newest of so many items that were written into a ring, oldest first."""
    end = written % SPAN
    start = end - min(count, written, SPAN)
    if start >= 0:
        return ring[start:end].copy()
    return np.concatenate([ring[start:], ring[:end]])
