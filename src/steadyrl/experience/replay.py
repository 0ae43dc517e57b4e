"""Replay of single transitions: uniform or prioritised, in one flat table of rows.

A row is [observation | action | next observation | reward | terminated]. One gather fetches a
batch, and the critic's input (observation and action side by side) is a window of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.experience.sum_tree import SumTree

SMALLEST_PRIORITY = 1e-6  # an item that taught nothing once may still be drawn again

Windows = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


class Batch(NamedTuple):
    """Transitions as float32 windows of one table; `weights` correct prioritised sampling."""

    indices: NDArray[np.int64]
    rows: Tensor
    observations: Tensor
    actions: Tensor
    observations_actions: Tensor
    next_observations: Tensor
    rewards: Tensor  # (batch, 1)
    terminated: Tensor  # (batch, 1), 0 or 1
    weights: Tensor | None  # (batch, 1)


class ReplayBuffer:
    """A ring of transitions; the oldest leave first."""

    def __init__(
        self, capacity: int, observation_size: int, action_size: int, *, device: torch.device
    ) -> None:
        self.capacity = capacity
        self._observation_size, self._action_size = observation_size, action_size
        self._width = 2 * observation_size + action_size + 2
        self._rows = np.zeros((capacity, self._width), dtype=np.float32)
        self._truncated = np.zeros(capacity, dtype=bool)
        self._added = 0
        self.truncations = 0
        self.truncations_cut = 0  # truncated transitions stored as terminated: must stay 0
        self._device = device
        self._gathered = torch.empty(0, self._width)
        self._numpy = self._gathered.numpy()  # the same memory
        self._windows = self._windows_of(self._gathered)

    def __len__(self) -> int:
        return min(self._added, self.capacity)

    def add(
        self,
        observations: NDArray[Any],
        actions: NDArray[Any],
        rewards: NDArray[Any],
        next_observations: NDArray[Any],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
    ) -> None:
        """Store one transition per row."""
        count, size, acts = len(rewards), self._observation_size, self._action_size
        start = self._added % self.capacity
        where: Any = slice(start, start + count)
        if start + count > self.capacity:  # a slice cannot go round, and costs half
            where = np.arange(start, start + count) % self.capacity
        rows = self._rows
        rows[where, :size] = observations
        rows[where, size : size + acts] = actions
        rows[where, size + acts : 2 * size + acts] = next_observations
        rows[where, -2] = rewards
        rows[where, -1] = terminated
        self._truncated[where] = truncated
        if np.count_nonzero(truncated):
            self.truncations += int(truncated.sum())
            self.truncations_cut += int((truncated & terminated).sum())
        self._added += count

    def sample(self, count: int, generator: np.random.Generator) -> Batch:
        """Draw uniformly, with replacement."""
        return self.fetch(generator.integers(len(self), size=count))

    def fetch(self, indices: NDArray[np.int64], weights: NDArray[Any] | None = None) -> Batch:
        """The named transitions. The batch's tensors are overwritten by the next fetch."""
        if self._gathered.shape[0] != len(indices):  # (a tensor's len() is slow)
            # Torch's allocator aligns; NumPy's might not, and products could then differ by a bit.
            # (mode="clip" below: the default mode would write through a second buffer.)
            self._gathered = torch.empty(len(indices), self._width)
            self._numpy = self._gathered.numpy()
            self._windows = self._windows_of(self._gathered)
        np.take(self._rows, indices, axis=0, out=self._numpy, mode="clip")
        windows = self._windows
        if self._device.type != "cpu":
            windows = self._windows_of(self._gathered.to(self._device))
        corrections = None
        if weights is not None:
            corrections = torch.from_numpy(weights.astype(np.float32)).to(self._device)[:, None]
        return Batch(indices, *windows, corrections)

    def _windows_of(self, rows: Tensor) -> Windows:
        """The rows and, in the order of `Batch`, their parts."""
        size, acts = self._observation_size, self._action_size
        return (
            rows,
            rows[:, :size],
            rows[:, size : size + acts],
            rows[:, : size + acts],
            rows[:, size + acts : 2 * size + acts],
            rows[:, -2:-1],
            rows[:, -1:],
        )

    def ages(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many transitions have been added since each of these."""
        newest = (self._added - 1) % self.capacity
        return (newest - indices) % self.capacity

    def newest(self, count: int) -> NDArray[np.int64]:
        """Where the newest transitions are."""
        count = min(count, len(self))
        return np.arange(self._added - count, self._added) % self.capacity

    def misaligned_share(self, indices: NDArray[np.int64], copies: int) -> float:
        """Share of these whose stored successor is not what the same copy saw next.

        The `copies` environments are added together, so a copy's next transition lies `copies`
        rows further. Ends of episodes and rows without a follower do not count.
        """
        size, acts = self._observation_size, self._action_size
        follower = (indices + copies) % self.capacity
        inside = (self.ages(indices) >= copies) & ~self._truncated[indices]
        inside &= self._rows[indices, -1] == 0
        if not inside.any():
            return 0.0
        successors = self._rows[indices[inside], size + acts : 2 * size + acts]
        return float((successors != self._rows[follower[inside], :size]).any(axis=1).mean())

    def state_dict(self) -> dict[str, Any]:
        """The filled part of the table."""
        return {
            "added": self._added,
            "rows": self._rows[: len(self)].copy(),
            "truncated": self._truncated[: len(self)].copy(),
            "truncations": [self.truncations, self.truncations_cut],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; a smaller capacity keeps the newest, a larger one keeps all."""
        rows, ends, added = (
            np.asarray(state["rows"]),
            np.asarray(state["truncated"]),
            state["added"],
        )
        if len(rows) != self.capacity and not added == len(rows) <= self.capacity:
            shift = -(added % len(rows))
            rows = np.roll(rows, shift, axis=0)[-self.capacity :]
            ends = np.roll(ends, shift)[-self.capacity :]
            added = len(rows)
        self._rows[: len(rows)], self._truncated[: len(rows)] = rows, ends
        self._added = int(added)
        self.truncations, self.truncations_cut = state["truncations"]


class PrioritisedReplayBuffer(ReplayBuffer):
    """Draws by TD error (Schaul et al., 2015); new transitions come in at the highest priority."""

    def __init__(
        self,
        capacity: int,
        observation_size: int,
        action_size: int,
        *,
        device: torch.device,
        alpha: float,
        beta: float,
    ) -> None:
        super().__init__(capacity, observation_size, action_size, device=device)
        self.alpha, self.beta = alpha, beta
        self._tree = SumTree(capacity)
        self._highest = 1.0

    def add(
        self,
        observations: NDArray[Any],
        actions: NDArray[Any],
        rewards: NDArray[Any],
        next_observations: NDArray[Any],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
    ) -> None:
        """Store transitions at the highest priority seen so far."""
        super().add(observations, actions, rewards, next_observations, terminated, truncated)
        where = self.newest(len(rewards))
        self._tree.set(where, np.full(len(where), self._highest))

    def sample(self, count: int, generator: np.random.Generator) -> Batch:
        """Draw by priority; weights (N p)^-beta, divided by the largest."""
        indices = self._tree.draw(count, generator)
        shares = self._tree[indices] / self._tree.total
        weights = (len(self) * shares) ** -self.beta
        return self.fetch(indices, weights / weights.max())

    def learn_priorities(self, batch: Batch, td_errors: NDArray[Any], beta_growth: float) -> None:
        """New priorities |TD error|^alpha for the items just used."""
        priorities = (np.abs(td_errors).astype(np.float64) + SMALLEST_PRIORITY) ** self.alpha
        self._tree.set(batch.indices, priorities)
        self._highest = max(self._highest, float(priorities.max()))
        self.beta = min(1.0, self.beta + beta_growth)

    def state_dict(self) -> dict[str, Any]:
        """The table, the priorities and beta."""
        tree = {"priorities": self._tree.leaves(len(self)), "highest": self._highest}
        return {**super().state_dict(), **tree, "beta": self.beta}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; after a capacity change all priorities start equal."""
        super().load_state_dict(state)
        self._highest, self.beta = float(state["highest"]), float(state["beta"])
        self._tree = SumTree(self.capacity)
        kept = len(self) == len(state["rows"]) and self._added == int(state["added"])
        priorities = state["priorities"] if kept else np.full(len(self), self._highest)
        if len(self):
            self._tree.set(np.arange(len(self)), np.asarray(priorities))
