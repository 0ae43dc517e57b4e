"""Environments of the fault bench: a small task that is quick to learn, and broken variants.

Registered on import, under `bench/`, so that configs can name them like any other.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

Observation = NDArray[np.float32]


class PointMass(gymnasium.Env[Any, Any]):
    """Hold a mass near the origin against a wind. Each step near it earns up to 1."""

    def __init__(self, episode_length: int = 100, sparse: bool = False) -> None:
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._length, self._sparse = episode_length, sparse
        self._position = self._velocity = self._wind = 0.0
        self._time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin somewhere near the origin, with a wind that stays for the episode."""
        super().reset(seed=seed)
        self._position, self._velocity = self.np_random.uniform(-1.0, 1.0, size=2).tolist()
        self._wind = float(self.np_random.uniform(-0.3, 0.3))
        self._time = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One tenth of a second; leaving the arena ends the episode."""
        force = float(np.clip(action[0], -1.0, 1.0))
        self._velocity += 0.1 * (2.0 * force + self._wind)
        self._position += 0.1 * self._velocity
        self._time += 1
        fallen = abs(self._position) > 2.0
        reward = 1.0 - min(1.0, self._position**2 + 0.1 * self._velocity**2)
        if self._sparse:
            reward = float(abs(self._position) < 0.1 and abs(self._velocity) < 0.1)
        return self._observe(), reward, fallen, not fallen and self._time >= self._length, {}

    def _observe(self) -> Observation:
        return np.array([self._position, self._velocity, self._wind], dtype=np.float32)


class Distorted(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Another environment whose observations or rewards are distorted on purpose."""

    def __init__(
        self,
        base: str,
        stretch: float = 1.0,
        frozen: bool = False,
        reward_stretch: float = 1.0,
    ) -> None:
        super().__init__(gymnasium.make(base, disable_env_checker=True))
        self._stretch, self._frozen = stretch, frozen
        self._reward_stretch = reward_stretch
        self._first: Observation | None = None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode of the base."""
        observation, info = self.env.reset(**options)
        return self._distort(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step of the base."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        seen = self._distort(observation)
        return seen, float(reward) * self._reward_stretch, terminated, truncated, info

    def _distort(self, observation: Observation) -> Observation:
        if self._frozen:
            if self._first is None:
                self._first = observation.copy()
            return self._first.copy()
        distorted = observation.copy()
        distorted[0] *= self._stretch
        return distorted


gymnasium.register("bench/PointMass-v0", entry_point=lambda **settings: PointMass(**settings))
gymnasium.register("bench/Distorted-v0", entry_point=lambda **settings: Distorted(**settings))
