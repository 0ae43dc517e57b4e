"""What passes by while an environment is stepped, gathered for the doctor's questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from steadyrl.environments.witness import Witness
from steadyrl.stability.environment_answers import Examined


class Passing:
    """Transitions of one environment, whoever chooses its actions."""

    def __init__(self, space: gymnasium.Space[Any], *, effects: bool = True) -> None:
        """Gather what steps in this space of actions do; without `effects` only what is seen."""
        self._first = int(space.start) if isinstance(space, spaces.Discrete) else 0
        choices = int(space.n) if isinstance(space, spaces.Discrete) else None
        self._witness = Witness(choices) if effects else None
        self._rewards: list[float] = []
        self.observations: list[Any] = []
        self._lengths: list[int] = []
        self._returns: list[float] = []
        self._terminated: list[float] = []
        self._both = self._denied = 0
        self._now: Any = None
        self._length, self._return = 0, 0.0

    @property
    def steps(self) -> int:
        """How many have passed."""
        return len(self._rewards)

    def begin(self, observation: Any) -> None:
        """An episode begins."""
        self._now, self._length, self._return = copied(observation), 0, 0.0
        self.observations.append(self._now)

    def add(
        self,
        action: Any,
        reward: Any,
        observation: Any,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """A step has been taken."""
        paid = float(reward)
        before, self._now = self._now, copied(observation)
        if self._witness is not None and isinstance(before, np.ndarray):
            taken = np.asarray(action)[None] - self._first
            self._witness.add(before[None], taken, [paid], [terminated or truncated])
        self._rewards.append(paid)
        self.observations.append(self._now)
        self._length, self._return = self._length + 1, self._return + paid
        if terminated or truncated:
            self._lengths.append(self._length)
            self._returns.append(self._return)
            self._terminated.append(float(terminated))
            self._both += terminated and truncated
            self._denied += bool((info or {}).get("TimeLimit.truncated", False)) and not truncated

    def examined(self, **more: Any) -> Examined:
        """All of it, as the questions want it; `more` is what else was found out."""
        told = self._witness.ask() if self._witness is not None else None
        return Examined(
            rewards=np.array(self._rewards),
            lengths=np.array(self._lengths or [self._length], dtype=np.float64),
            returns=np.array(self._returns or [self._return]),
            terminated=np.array(self._terminated or [0.0]),
            observations=_matrix(self.observations),
            effect=told.effect if told else math.nan,
            lag=told.lag if told else math.nan,
            noise=told.noise if told else math.nan,
            both_flags=self._both,
            denied=self._denied,
            **more,
        )


def copied(observation: Any) -> Any:
    """The environment may write into its own arrays."""
    if isinstance(observation, dict):
        return {key: copied(value) for key, value in observation.items()}
    if isinstance(observation, tuple):
        return tuple(map(copied, observation))
    return np.array(observation) if isinstance(observation, np.ndarray) else observation


def _matrix(observations: list[Any]) -> Any:
    """A row each, where observations are vectors of numbers."""
    first = observations[0] if observations else None
    if not isinstance(first, np.ndarray) or first.ndim != 1 or first.dtype.kind != "f":
        return None
    return np.array(observations, dtype=np.float64)
