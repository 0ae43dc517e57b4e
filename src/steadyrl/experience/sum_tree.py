"""A tree of sums for drawing indices in proportion to priorities, all in NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
FAN = 32  # children of a node: NumPy adds up 32 numbers in the time that one call takes
MANY = 2048  # indices among which it pays to look for repeated rows
WIDEST = 4096  # nodes at the top, which are added up as they are


class SumTree:
    """Leaf i holds priority i; every node above holds the sum of its 32 children.

    Each level is an array of rows of 32, so a whole batch walks up or down one level at a time
    without a Python loop over its items, and even a million leaves are three levels.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        rows = -(-capacity // FAN)
        self._levels = [np.zeros((rows, FAN))]
        while rows > WIDEST:
            rows = -(-rows // FAN)
            self._levels.append(np.zeros((rows, FAN)))
        self._top = np.zeros(rows)
        self._sums = np.zeros(rows)  # of the top, added up from the left

    @property
    def total(self) -> float:
        """Sum of all priorities."""
        return float(self._sums[-1])

    def __getitem__(self, indices: Indices) -> Floats:
        return self._levels[0].reshape(-1)[indices]

    def set(self, indices: Indices, priorities: Floats) -> None:
        """Set priorities; if an index is repeated the last value counts."""
        self._levels[0].reshape(-1)[indices] = priorities
        rows = np.asarray(indices)
        above = [level.reshape(-1) for level in self._levels[1:]] + [self._top]
        for level, sums in zip(self._levels, above, strict=True):
            rows = rows // FAN
            if len(rows) > MANY:  # a few sums twice cost less than to find out which they are
                rows = np.unique(rows)
            sums[rows] = level[rows].sum(axis=1)
        np.cumsum(self._top, out=self._sums)

    def draw(self, count: int, generator: np.random.Generator) -> Indices:
        """Indices with probability priority / total, one from each of `count` equal strata.

        They come in ascending order.
        """
        remaining = (np.arange(count) + generator.random(count)) * (self.total / count)
        nodes: Indices = self._sums.searchsorted(remaining, side="right")
        if count and (nodes[-1] == len(self._top) or not self._top[nodes[-1]]):  # by rounding
            nodes = nodes.clip(max=self._sums.searchsorted(self._sums[-1]))
        remaining -= self._sums[nodes] - self._top[nodes]
        each = np.arange(count)
        for level in reversed(self._levels):
            rows = level[nodes]
            sums = rows.cumsum(axis=1)
            inside = (sums > remaining[:, None]).argmax(axis=1)
            past = sums[:, -1] <= remaining
            if past.any():  # rounding left a remainder past all of them: the last that counts
                inside[past] = FAN - 1 - (rows[past, ::-1] > 0).argmax(axis=1)
            nodes = nodes * FAN + inside
            if level is not self._levels[0]:
                remaining -= sums[each, inside] - rows[each, inside]
        return nodes

    def leaves(self, count: int) -> Floats:
        """The first `count` priorities."""
        return self._levels[0].reshape(-1)[:count].copy()
