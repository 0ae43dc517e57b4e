"""Running mean and variance (Chan et al.'s parallel form of Welford's method)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 10.0  # deviations; what is farther out counts as this far


class RunningMoments:
    """Mean and variance of everything seen so far, per component."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)  # sum of squared deviations from the mean

    @property
    def variance(self) -> NDArray[np.float64]:
        """Population variance; 1 until two values have been seen."""
        return self._squares / self.count if self.count > 1 else np.ones_like(self._squares)

    @property
    def deviation(self) -> NDArray[np.float64]:
        """What values are divided by."""
        found: NDArray[np.float64] = np.sqrt(self.variance + 1e-8)
        return found

    def add(self, values: NDArray[Any]) -> None:
        """Take a batch: the first axis counts the values."""
        count = len(values)
        mean = values.mean(axis=0, dtype=np.float64)
        squares = ((values - mean) ** 2).sum(axis=0, dtype=np.float64)
        total = self.count + count
        shift = mean - self.mean
        self.mean = self.mean + shift * (count / total)
        self._squares = self._squares + squares + shift**2 * (self.count * count / total)
        self.count = total

    def normalize(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Values of mean 0 and variance 1, clipped to ±10."""
        scaled = (values - self.mean) / self.deviation
        return np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        """All of it."""
        return {"count": self.count, "mean": self.mean, "squares": self._squares}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self.count = int(state["count"])
        self.mean, self._squares = np.array(state["mean"]), np.array(state["squares"])


class RewardScale:
    """Divides rewards by the running deviation of the discounted return, without shifting them.

    A shift would change what is worth doing; a scale does not.
    """

    def __init__(self, copies: int) -> None:
        self._moments = RunningMoments(())
        self._running = np.zeros(copies)

    def scale(
        self, rewards: NDArray[Any], ended: NDArray[np.bool_], gamma: float
    ) -> NDArray[np.float64]:
        """The next rewards of all environments, scaled and clipped to ±10."""
        self._running = gamma * self._running + rewards
        self._moments.add(self._running)
        self._running[ended] = 0.0
        return np.asarray(np.clip(rewards / self._moments.deviation, -LIMIT, LIMIT))

    @property
    def deviation(self) -> float:
        """What rewards are divided by."""
        return float(self._moments.deviation)

    def state_dict(self) -> dict[str, Any]:
        """All of it."""
        return {"moments": self._moments.state_dict(), "running": self._running.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self._moments.load_state_dict(state["moments"])
        self._running = np.array(state["running"])
