"""A binary tree of sums for drawing indices in proportion to priorities, all in NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class SumTree:
    """Leaf i holds priority i; every inner node holds the sum of its two children.

    Node 1 is the root and node n has children 2n and 2n+1, so a whole batch walks up or down one
    level at a time without a Python loop over its items.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._leaves = 1 << max(capacity - 1, 1).bit_length()
        self._sums = np.zeros(2 * self._leaves)

    @property
    def total(self) -> float:
        """Sum of all priorities."""
        return float(self._sums[1])

    def __getitem__(self, indices: Indices) -> Floats:
        return self._sums[self._leaves + indices]

    def set(self, indices: Indices, priorities: Floats) -> None:
        """Set priorities; if an index is repeated the last value counts."""
        nodes = self._leaves + np.asarray(indices)
        self._sums[nodes] = priorities
        nodes = np.unique(nodes >> 1)
        while nodes[0] >= 1:
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]
            nodes = np.unique(nodes >> 1)

    def draw(self, count: int, generator: np.random.Generator) -> Indices:
        """Indices with probability priority / total, one from each of `count` equal strata."""
        edges = np.arange(count) + generator.random(count)
        remaining = edges * (self.total / count)
        nodes = np.ones(count, dtype=np.int64)
        while nodes[0] < self._leaves:
            nodes *= 2
            left = self._sums[nodes]
            # Never into an empty half, even when rounding leaves a remainder past the left sum.
            right = (remaining >= left) & (self._sums[nodes + 1] > 0)
            remaining = np.where(right, remaining - left, remaining)
            nodes += right
        return nodes - self._leaves

    def leaves(self, count: int) -> Floats:
        """The first `count` priorities."""
        return self._sums[self._leaves : self._leaves + count].copy()
