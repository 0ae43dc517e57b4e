"""Environments held to their promises while they run.

Half of all collapsed runs were taught by a broken environment. Gymnasium's own checker looks at
construction and at the first step; this one stays. It also tells what only shows over time and
may be so in a sound environment too: observations that stop changing, and episodes that all
terminate after the same number of steps, which is often a time limit reported as failure.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, Literal, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from steadyrl.core.choices import one_of
from steadyrl.core.errors import EnvironmentFault
from steadyrl.environments.spaces import told

OnFault = Literal["raise", "warn", "record"]

# What may also be so in a sound environment is only warned of, never raised.
SUSPICIONS = ("observation-frozen", "time-limit-as-termination", "action")

FROZEN = 50  # equal observations running while different actions are played
SAME_LENGTH = 10  # terminated episodes of one length that look like a time limit


class ContractEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Checks observations, rewards and ends of episodes; changes nothing."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, on_fault: OnFault = "raise") -> None:
        """Check an environment.

        Args:
            env: the environment.
            on_fault: raise an EnvironmentFault; warn, once per kind; or only record it. What may
                be so in a sound environment too is at most warned of: frozen observations,
                termination at one and the same step, actions outside their space.
        """
        super().__init__(env)
        self._on_fault = one_of("on_fault", on_fault, OnFault)
        self.faults: dict[str, str] = {}  # kind -> first sentence about it
        self._running = False
        self._length = self._steps = 0
        self._previous: Any = None
        self._equal = 0
        self._first_action: Any = None
        self._actions_differ = False
        self._lengths: list[int] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = pair_of(self.env.reset(seed=seed, options=options))
        self._running, self._length = True, 0
        self._previous, self._equal, self._actions_differ = copy.deepcopy(observation), 0, False
        self._check_observation(observation, "reset")
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Play an action and check what comes back."""
        if not self._running:
            self._fault("step-after-end", "step() was called before reset(), or after the end.")
        if not self.action_space.contains(action):
            self._fault("action", f"the action {_short(action)} is not in {self.action_space}.")
        observation, reward, terminated, truncated, info = five_of(self.env.step(action))
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
        self._check_in(self.observation_space, observation, where)

    def _check_in(self, space: spaces.Space[Any], observation: Any, where: str) -> None:
        if isinstance(space, spaces.Dict) and isinstance(observation, dict):
            for name in space.spaces.keys() & observation.keys():
                self._check_in(space[name], observation[name], f"{where}, '{name}',")
            if space.spaces.keys() != observation.keys():
                self._fault("observation", f"at {where} the observation's names are not {space}'s.")
        elif isinstance(space, spaces.Tuple) and isinstance(observation, tuple):
            for number, (inner, part) in enumerate(zip(space.spaces, observation, strict=False)):
                self._check_in(inner, part, f"{where}, part {number},")
        elif isinstance(space, spaces.Box):
            self._check_box(space, observation, where)
        elif not space.contains(observation):
            self._fault("observation", f"at {where} the observation is not in {told(space)}.")

    def _check_box(self, space: spaces.Box, observation: Any, where: str) -> None:
        if observation is None:
            self._fault("observation", f"at {where} the observation is None, not in {told(space)}.")
            return
        values = np.asarray(observation)
        if values.dtype.kind not in "fiub":
            self._fault(
                "observation",
                f"at {where} the observation is {_short(observation)}, not in {told(space)}.",
            )
            return
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

    def _check_reward(self, reward: Any) -> None:
        if not isinstance(reward, int | float | np.number | np.bool_) and np.shape(reward) != ():
            said = f"an array of shape {np.shape(reward)}"
            self._fault("reward", f"at step {self._length} the reward is {said}, no number.")
            return
        try:
            value = float("text" if isinstance(reward, str) else reward)
        except (TypeError, ValueError):
            kind = "None" if reward is None else f"a {type(reward).__name__}"
            self._fault("reward", f"at step {self._length} the reward is {kind}, no number.")
            return
        if not np.isfinite(value):
            said = f"at step {self._length} the reward is {value}."
            self._fault("reward-not-finite", said)

    def _check_change(self, observation: Any, action: Any) -> None:
        """Actions differ, the world does not: it is not stepped, or the observation is stale."""
        same = _equal(observation, self._previous)
        if same and self._equal:
            self._actions_differ |= not _equal(action, self._first_action)
        else:
            self._first_action, self._actions_differ = copy.deepcopy(action), False
            self._previous = copy.deepcopy(observation)  # the environment may write into its own
        self._equal = self._equal + 1 if same else 0
        if self._equal >= FROZEN and self._actions_differ:
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
                f"the last {SAME_LENGTH} episodes all terminated after {self._length} steps. If "
                "that is a time limit and not the task's own end, it must be reported as "
                "truncated, or the agent learns that the world ends there.",
            )

    def _fault(self, kind: str, sentence: str) -> None:
        new = kind not in self.faults
        self.faults.setdefault(kind, sentence)
        if self._on_fault == "raise" and kind not in SUSPICIONS:
            raise EnvironmentFault(f"{self.env}: {sentence}")
        if new and self._on_fault != "record":
            warnings.warn(f"{self.env}: {sentence}", stacklevel=3)


def pair_of(found: Any) -> tuple[Any, dict[str, Any]]:
    """What reset() returned, if it is what Gymnasium says."""
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[1], dict):
        raise EnvironmentFault(
            f"reset() returned {_kind(found)}, not (observation, info). Return "
            "(observation, {}): the form without info is older than Gymnasium."
        )
    return found


def five_of(found: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """What step() returned, if it is what Gymnasium says."""
    if not isinstance(found, tuple) or len(found) != 5:
        old = " The form with one 'done' is older than Gymnasium." if _length(found) == 4 else ""
        raise EnvironmentFault(
            f"step() returned {_kind(found)}, not (observation, reward, terminated, truncated, "
            f"info).{old}"
        )
    return found


def _length(found: Any) -> int:
    return len(found) if isinstance(found, tuple | list) else 0


def _kind(found: Any) -> str:
    if isinstance(found, tuple):
        return f"a tuple of {len(found)}"
    if isinstance(found, np.ndarray):
        return f"an array of shape {found.shape}"
    return "None" if found is None else f"a {type(found).__name__}"


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_equal(one[key], other.get(key)) for key in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(_equal(a, b) for a, b in zip(one, other, strict=False))
    return bool(np.array_equal(one, other))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
