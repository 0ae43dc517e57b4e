"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import settings

import steadyrl.environments  # noqa: F401 - registers them
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.presets import parse_config

torch.set_num_threads(1)
settings.register_profile("any machine", deadline=None)  # how long a test takes is no law
settings.load_profile("any machine")


class Countdown(gymnasium.Env[Any, Any]):
    """Observes how many steps are left; ends by termination or truncation as told."""

    def __init__(self, length: int = 5, truncate: bool = False, poison_at: int = -1) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self._length, self._truncate, self._poison_at = length, truncate, poison_at
        self._left, self._start = length, 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left, self._start = self._length, float(self.np_random.uniform())
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._left -= 1
        over = self._left == 0
        observation = self._observe()
        if self._left == self._poison_at:
            observation[1] = np.nan
        return observation, 1.0, over and not self._truncate, over and self._truncate, {}

    def _observe(self) -> Any:
        return np.array([self._left, self._start], dtype=np.float32)


gymnasium.register("test/Countdown-v0", entry_point=lambda **settings: Countdown(**settings))


class Investment(gymnasium.Env[Any, Any]):
    """What is given costs now and pays on the next step: to give 0.5 is best, in sight -0.5 is."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._left, self._given = 20, float(self.np_random.uniform(-1.0, 1.0))
        return np.array([self._given], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self._given = self._given, float(action[0])
        self._left -= 1
        reward = 2.0 * before - (self._given + 0.5) ** 2
        return np.array([self._given], np.float32), reward, False, self._left == 0, {}


gymnasium.register("test/Investment-v0", entry_point=lambda **_: Investment())


@pytest.fixture
def small_config() -> Callable[..., DDPGConfig]:
    """A DDPG config that trains in a second, with dotted overrides."""

    def make(**overrides: Any) -> DDPGConfig:
        values = {
            "algorithm": "ddpg",
            "total_env_steps": 300,
            "log_every": 20,
            "batch_size": 16,
            "buffer_size": 400,
            "learning_starts": 40,
            "hidden_sizes": [16, 16],
            "environment": {"id": "Pendulum-v1"},
            "evaluation": {"every": 100, "episodes": 2},
            "checkpoints": {"every": 60},
        }
        dotted = {name.replace("__", "."): value for name, value in overrides.items()}
        config = parse_config(values, overrides=dotted)
        assert isinstance(config, DDPGConfig)
        return config

    return make
