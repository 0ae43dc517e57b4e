"""Environments side by side, with true successors, honest episode ends and a restorable state.

We reset, never the environment: Gymnasium's autoreset hides the final observation behind the next
episode's first one, and its three modes hide it in three ways. Each episode is seeded on its own,
so an environment is a function of (seed, actions): its state is saved either by asking for it
(`state_dict`) or by replaying the current episode's actions, whatever the environment is.
"""

from __future__ import annotations

import difflib
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from steadyrl.core.configs.run import EnvironmentConfig
from steadyrl.core.errors import EnvironmentFault, TrainingDiverged
from steadyrl.core.seeding import integer_seed

Array = NDArray[Any]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Transitions:
    """What one step of all environments gave. `next_observations` are true successors."""

    next_observations: Array
    rewards: NDArray[np.float64]
    terminated: Flags
    truncated: Flags


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished episode of one of the copies."""

    copy: int
    total: float
    length: int
    terminated: bool


class _Backend(Protocol):
    """How the environments are actually held and stepped."""

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]

    def reset(self, index: int, seed: int) -> Array: ...

    def step(self, actions: Array) -> tuple[Array, NDArray[np.float64], Flags, Flags]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> Array: ...

    def close(self) -> None: ...


class Envs:
    """`count` environments of one kind. `observations` is what the policy must act on next."""

    def __init__(self, config: EnvironmentConfig, *, seed: int, purpose: str = "training") -> None:
        self.id, self.count = config.id, config.count
        self._seed, self._purpose = seed, purpose
        self._backend = _make_backend(config)
        self.observation_space = self._backend.observation_space
        self.action_space = self._backend.action_space
        if not isinstance(self.observation_space, Box):
            raise EnvironmentFault(
                f"environment '{self.id}' has observation space {self.observation_space}: a Box is "
                "needed. Wrap it with gymnasium.wrappers.FlattenObservation."
            )
        self.steps_taken = 0
        self.recent: deque[Episode] = deque(maxlen=100)
        self.finished: list[Episode] = []  # since the caller last emptied it
        self._episodes_begun = np.zeros(self.count, dtype=np.int64)
        self._totals = np.zeros(self.count)
        self._lengths = np.zeros(self.count, dtype=np.int64)
        self.observations: Array = np.stack([self._begin(index) for index in range(self.count)])

    def step(self, actions: Array) -> Transitions:
        """Step all; begin a new episode where one ended, after its end has been recorded."""
        # A sum is finite only if all its terms are (infinities cannot cancel to a number).
        if not math.isfinite(float(actions.sum())):
            raise TrainingDiverged(
                f"the policy's action at environment step {self.steps_taken} is not a number: its "
                "weights are no longer finite. Go back to the last good checkpoint and lower the "
                "learning rate or the reward scale."
            )
        next_observations, rewards, terminated, truncated = self._backend.step(actions)
        self.steps_taken += self.count
        if not math.isfinite(float(next_observations.sum()) + float(rewards.sum())):
            self._refuse_non_finite(next_observations, rewards)
        self._totals += rewards
        self._lengths += 1
        ended = terminated | truncated
        self.observations = next_observations
        if ended.any():
            self.observations = next_observations.copy()
            for index in np.flatnonzero(ended):
                self._end(int(index), bool(terminated[index]))
                self.observations[index] = self._begin(int(index))
        return Transitions(next_observations, rewards, terminated, truncated)

    def episode_signals(self) -> dict[str, float]:
        """How the recent episodes went, and how those that ended since the last call ended."""
        signals: dict[str, float] = {}
        if self.recent:
            signals["rollout.return_mean"] = float(np.mean([e.total for e in self.recent]))
            signals["rollout.length_mean"] = float(np.mean([e.length for e in self.recent]))
        if self.finished:
            ends = [episode.terminated for episode in self.finished]
            signals["rollout.terminated_share"] = float(np.mean(ends))
            self.finished.clear()
        return signals

    def close(self) -> None:
        """Release what the environments hold."""
        self._backend.close()

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        return {
            "backend": self._backend.state_dict(),
            "observations": self.observations.copy(),
            "steps_taken": self.steps_taken,
            "episodes_begun": self._episodes_begun.copy(),
            "totals": self._totals.copy(),
            "lengths": self._lengths.copy(),
            "recent": [[e.copy, e.total, e.length, e.terminated] for e in self.recent],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state; an environment that does not come back exactly is an error."""
        restored = self._backend.load_state_dict(state["backend"])
        expected = np.asarray(state["observations"])
        if not np.array_equal(restored, expected):
            raise EnvironmentFault(
                f"environment '{self.id}' did not come back to the state it was saved in: after "
                "replaying its episode's actions from the same seed it shows another observation. "
                "It is not deterministic, so this run cannot be resumed exactly."
            )
        self.observations = expected.copy()
        self.steps_taken = int(state["steps_taken"])
        self._episodes_begun[:] = state["episodes_begun"]
        self._totals[:] = state["totals"]
        self._lengths[:] = state["lengths"]
        self.recent = deque((Episode(*record) for record in state["recent"]), maxlen=100)
        self.finished = []

    def _begin(self, index: int) -> Array:
        seed = integer_seed(self._seed, self._purpose, index, int(self._episodes_begun[index]))
        self._episodes_begun[index] += 1
        self._totals[index], self._lengths[index] = 0.0, 0
        observation = self._backend.reset(index, seed)
        if not np.isfinite(observation).all():
            self._refuse_non_finite(observation[None], np.zeros(1))
        return observation

    def _end(self, index: int, terminated: bool) -> None:
        episode = Episode(index, float(self._totals[index]), int(self._lengths[index]), terminated)
        self.recent.append(episode)
        self.finished.append(episode)

    def _refuse_non_finite(self, observations: Array, rewards: Array) -> None:
        flat = observations.reshape(len(observations), -1)
        bad = np.argwhere(~np.isfinite(flat))
        if len(bad):
            row, column = (int(part) for part in bad[0])
            what = f"observation[{column}] = {flat[row, column]}"
        else:
            row = int(np.flatnonzero(~np.isfinite(rewards))[0])
            what = f"reward = {rewards[row]}"
        raise EnvironmentFault(
            f"environment '{self.id}' (copy {row}) returned {what} at environment step "
            f"{self.steps_taken}: training on it would poison the networks. Fix the environment, "
            "or end its episodes before its state leaves the finite numbers."
        )


def to_bounds(actions: Array, space: Box) -> Array:
    """Actions of -1..1 stretched to the space's bounds."""
    low, high = space.low, space.high
    return (low + 0.5 * (actions + 1.0) * (high - low)).astype(space.dtype)


class _SerialBackend:
    """Plain Gymnasium environments, one after the other."""

    def __init__(self, config: EnvironmentConfig) -> None:
        settings: dict[str, Any] = dict(config.settings)
        self._envs = [
            gymnasium.make(config.id, disable_env_checker=True, **settings)
            for _ in range(config.count)
        ]
        self.observation_space = self._envs[0].observation_space
        self.action_space = self._envs[0].action_space
        self._seeds = [0] * config.count
        self._actions: list[list[Array]] = [[] for _ in range(config.count)]

    def reset(self, index: int, seed: int) -> Array:
        self._seeds[index], self._actions[index] = seed, []
        return np.asarray(self._envs[index].reset(seed=seed)[0])

    def step(self, actions: Array) -> tuple[Array, NDArray[np.float64], Flags, Flags]:
        results = []
        # Discrete spaces check a Python int ten times faster than a NumPy one.
        given = actions.tolist() if actions.ndim == 1 and actions.dtype.kind == "i" else actions
        for env, log, action in zip(self._envs, self._actions, given, strict=True):
            log.append(action)
            results.append(env.step(action))
        observations, rewards, terminated, truncated, _ = zip(*results, strict=True)
        return (
            np.stack(observations),
            np.array(rewards, dtype=np.float64),
            np.array(terminated, dtype=bool),
            np.array(truncated, dtype=bool),
        )

    def state_dict(self) -> dict[str, Any]:
        actions = [np.array(log) for log in self._actions]
        return {"seeds": list(self._seeds), "actions": actions}

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        observations = []
        for index, (seed, actions) in enumerate(zip(state["seeds"], state["actions"], strict=True)):
            observation = self.reset(index, seed)
            for action in actions:
                self._actions[index].append(action)
                observation = np.asarray(self._envs[index].step(action)[0])
            observations.append(observation)
        return np.stack(observations)

    def close(self) -> None:
        for env in self._envs:
            env.close()


class _VectorBackend:
    """A Gymnasium vector environment that leaves resets to us and can give its state."""

    def __init__(self, config: EnvironmentConfig) -> None:
        settings: dict[str, Any] = dict(config.settings)
        self._env: Any = gymnasium.make_vec(
            config.id,
            num_envs=config.count,
            vectorization_mode="vector_entry_point",
            **settings,
        )
        self.observation_space = self._env.single_observation_space
        self.action_space = self._env.single_action_space
        self._env.reset(seed=0)

    def reset(self, index: int, seed: int) -> Array:
        mask = np.zeros(self._env.num_envs, dtype=bool)
        mask[index] = True
        seeds = [seed if chosen else None for chosen in mask]
        observations: Array = self._env.reset(seed=seeds, options={"reset_mask": mask})[0]
        return np.asarray(observations[index])

    def step(self, actions: Array) -> tuple[Array, NDArray[np.float64], Flags, Flags]:
        observations, rewards, terminated, truncated, _ = self._env.step(actions)
        return observations, rewards, terminated, truncated

    def state_dict(self) -> dict[str, Any]:
        return {"vector": self._env.unwrapped.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        self._env.unwrapped.load_state_dict(state["vector"])
        observations: Array = self._env.unwrapped.observe()
        return observations

    def close(self) -> None:
        self._env.close()


def _make_backend(config: EnvironmentConfig) -> _Backend:
    spec = gymnasium.registry.get(config.id)
    try:
        if spec is not None and _steps_as_vector(spec):
            return _VectorBackend(config)
        return _SerialBackend(config)
    except gymnasium.error.Error as error:
        close = difflib.get_close_matches(config.id, list(gymnasium.registry), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        reason = str(error).rstrip(". ")
        raise EnvironmentFault(f"environment.id = '{config.id}': {reason}.{hint}") from None
    except ImportError as error:
        raise EnvironmentFault(
            f"environment.id = '{config.id}' cannot be imported: {error}. Install its package."
        ) from None
    except TypeError as error:
        raise EnvironmentFault(
            f"environment '{config.id}' does not take environment.settings = "
            f"{dict(config.settings)}: {error}."
        ) from None


def _steps_as_vector(spec: Any) -> bool:
    if spec.vector_entry_point is None:
        return False
    entry = spec.vector_entry_point
    creator = (
        gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    )
    metadata = getattr(creator, "metadata", {})
    return metadata.get("autoreset_mode") == AutoresetMode.DISABLED and hasattr(
        creator, "state_dict"
    )
