"""A Gymnasium wrapper that checks what an environment promises, step by step.

    env = CheckedEnv(gymnasium.make("MyTask-v0"))              # raises at the first fault
    env = CheckedEnv(gymnasium.make("MyTask-v0"), on_fault="warn")

Half of all collapsed runs were taught by a broken environment. Gymnasium's own checker looks at
construction and at the first step; this one stays, and also notices what only shows over time:
observations that stop changing, ends of episodes that come at the time limit but are reported as
failure, steps after the end.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from steadyrl.core.errors import EnvironmentFault

OnFault = Literal["raise", "warn", "record"]

FROZEN = 50  # equal observations running while different actions are played
SAME_LENGTH = 10  # terminated episodes of one length that look like a time limit


class CheckedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Checks observations, rewards and ends of episodes; changes nothing."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, on_fault: OnFault = "raise") -> None:
        """Check an environment.

        Args:
            env: the environment.
            on_fault: raise an EnvironmentFault; warn, once per kind; or only record it.
        """
        super().__init__(env)
        self._on_fault = on_fault
        self.faults: dict[str, str] = {}  # kind -> first sentence about it
        self._running = False
        self._length = self._steps = 0
        self._previous: Any = None
        self._equal = 0
        self._actions: list[Any] = []
        self._lengths: list[int] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._running, self._length = True, 0
        self._previous, self._equal, self._actions = observation, 0, []
        self._check_observation(observation, "reset")
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an action and check what comes back."""
        if not self._running:
            self._fault("step-after-end", "step() was called before reset(), or after the end.")
        if not self.action_space.contains(action):
            self._fault("action", f"the action {_short(action)} is not in {self.action_space}.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        self._length += 1
        self._check_observation(observation, f"step {self._length}")
        self._check_reward(reward)
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(flag, bool | np.bool_):
                self._fault("flags", f"{name} is {flag!r}; it must be True or False.")
        self._check_change(observation, action)
        if terminated or truncated:
            self._running = False
            self._check_length(bool(terminated), bool(truncated))
        return observation, reward, terminated, truncated, info

    def _check_observation(self, observation: Any, where: str) -> None:
        space = self.observation_space
        if isinstance(space, spaces.Box):
            values = np.asarray(observation)
            if values.shape != space.shape:
                said = f"{values.shape}, the space says {space.shape}"
                self._fault("observation-shape", f"at {where} the observation's shape is {said}.")
                return
            if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
                bad = int(np.argmax(~np.isfinite(values.reshape(-1))))
                self._fault(
                    "observation-not-finite",
                    f"at {where} component {bad} of the observation is {values.reshape(-1)[bad]}.",
                )
                return
            if values.dtype != space.dtype:
                said = f"{values.dtype}, the space says {space.dtype}"
                self._fault("observation-dtype", f"at {where} the observation is {said}.")
            outside = (values < space.low) | (values > space.high)
            if outside.any():
                bad = int(np.argmax(outside.reshape(-1)))
                low, high = space.low.reshape(-1)[bad], space.high.reshape(-1)[bad]
                self._fault(
                    "observation-range",
                    f"at {where} component {bad} of the observation is "
                    f"{values.reshape(-1)[bad]:g}, outside [{low:g}, {high:g}].",
                )
        elif not space.contains(observation):
            self._fault("observation", f"at {where} the observation is not in {space}.")

    def _check_reward(self, reward: SupportsFloat) -> None:
        try:
            value = float(reward)
        except (TypeError, ValueError):
            kind = type(reward).__name__
            self._fault("reward", f"at step {self._length} the reward is a {kind}, no number.")
            return
        if not np.isfinite(value):
            self._fault("reward", f"at step {self._length} the reward is {value}.")

    def _check_change(self, observation: Any, action: Any) -> None:
        """Actions differ, the world does not: it is not stepped, or the observation is stale."""
        same = _equal(observation, self._previous)
        self._equal = self._equal + 1 if same else 0
        self._actions = [*self._actions, action] if same else []
        self._previous = observation
        if self._equal >= FROZEN and any(not _equal(a, self._actions[0]) for a in self._actions):
            self._fault(
                "observation-frozen",
                f"the observation has not changed for {self._equal} steps of differing actions.",
            )

    def _check_length(self, terminated: bool, truncated: bool) -> None:
        """Every failure after exactly the same number of steps is a time limit in disguise."""
        if not terminated or truncated:
            self._lengths = []
            return
        self._lengths = [*self._lengths, self._length][-SAME_LENGTH:]
        same = len(self._lengths) == SAME_LENGTH and len(set(self._lengths)) == 1
        if same and self._length > 1:
            self._fault(
                "time-limit-as-termination",
                f"the last {SAME_LENGTH} episodes all terminated after {self._length} steps. A "
                "time limit must be reported as truncated, or the agent learns that the world "
                "ends there.",
            )

    def _fault(self, kind: str, sentence: str) -> None:
        new = kind not in self.faults
        self.faults.setdefault(kind, sentence)
        if self._on_fault == "raise":
            raise EnvironmentFault(f"{self.env}: {sentence}")
        if new and self._on_fault == "warn":
            warnings.warn(f"{self.env}: {sentence}", stacklevel=3)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_equal(one[key], other.get(key)) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(_equal(a, b) for a, b in zip(one, other, strict=False))
    return bool(np.array_equal(one, other))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
