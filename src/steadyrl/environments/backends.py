"""How environments are held and stepped: plain ones in a row, or vector ones that let us reset."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from steadyrl.core.errors import EnvironmentFault
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.contract import FirstEpisodes, explained
from steadyrl.environments.given import make_given, was_given
from steadyrl.environments.own import imported, own_module
from steadyrl.environments.spaces import Spaces, is_array_space

Array = NDArray[Any]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Transitions:
    """What one step of all environments gave. `next_observations` are true successors.

    `over` says where a new episode begins. It is not always where the future ends: a lost life in
    an Atari game may count as the end of what can be earned, and the game goes on.
    """

    next_observations: Array
    rewards: NDArray[np.float64]
    terminated: Flags
    truncated: Flags
    over: Flags


class Backend(Protocol):
    """How the environments are actually held and stepped."""

    spaces: Spaces

    def reset(self, index: int, seed: int) -> Array:
        """Begin an episode of one of them."""
        ...

    def step(self, actions: Array) -> Transitions:
        """One step of all of them; none is reset."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        """Back to a recorded state; returns what is seen there."""
        ...

    def close(self) -> None:
        """Release what they hold."""
        ...


class SerialBackend:
    """Plain Gymnasium environments, one after the other."""

    def __init__(self, config: EnvironmentConfig) -> None:
        self._id = config.id
        self._envs: list[gymnasium.Env[Any, Any]] = []
        with ExitStack() as undo:  # if one cannot be made, those before it are closed
            for _ in range(config.count):
                env = plain_env(config)
                undo.callback(env.close)
                self._envs.append(with_arrays(env))
                if len(self._envs) == 1:
                    self.spaces = Spaces(env.observation_space, env.action_space)
                    self._first: FirstEpisodes | None = FirstEpisodes(env, config.id)
                check_quickly(env)
            undo.pop_all()
        assert self._first is not None
        self._without_looking, self._envs[0] = self._envs[0], with_arrays(self._first)
        self._shape = self.spaces.seen.shape
        self._seeds = [0] * config.count
        self._actions: list[list[Array]] = [[] for _ in range(config.count)]

    def reset(self, index: int, seed: int) -> Array:
        """Begin an episode of one of them."""
        if index == 0 and self._first is not None and self._first.over:
            self._envs[0], self._first = self._without_looking, None
        self._seeds[index], self._actions[index] = seed, []
        try:
            return np.asarray(self._envs[index].reset(seed=seed)[0])
        except Exception as error:
            raise explained(self._id, error, "reset()") from error

    def step(self, actions: Array) -> Transitions:
        """One step of all of them; none is reset."""
        results = []
        # Discrete spaces check a Python int ten times faster than a NumPy one.
        given = actions.tolist() if actions.ndim == 1 and actions.dtype.kind == "i" else actions
        try:
            for env, log, action in zip(self._envs, self._actions, given, strict=True):
                log.append(action)
                results.append(env.step(action))
            observations, rewards, terminated, truncated, _ = zip(*results, strict=True)
            ended, cut = np.array(terminated, dtype=bool), np.array(truncated, dtype=bool)
            received = np.array(rewards, dtype=np.float64)
            seen = np.array(observations)
        except Exception as error:
            raise explained(self._id, error, "step()") from error
        if seen.shape[1:] != self._shape or received.ndim != 1:
            raise EnvironmentFault(
                f"environment '{self._id}' returned observations of shape {seen.shape[1:]} and "
                f"rewards of shape {received.shape[1:]}: the space says {self._shape}, and a "
                "reward is a number."
            )
        return Transitions(seen, received, ended, cut, ended | cut)

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        actions = [np.array(log) for log in self._actions]
        return {"seeds": list(self._seeds), "actions": actions}

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        """Back to a recorded state; returns what is seen there."""
        observations = []
        for index, (seed, actions) in enumerate(zip(state["seeds"], state["actions"], strict=True)):
            observation = self.reset(index, seed)
            for action in actions:
                self._actions[index].append(action)
                observation = np.asarray(self._envs[index].step(action)[0])
            observations.append(observation)
        return np.stack(observations)

    def close(self) -> None:
        """Release what they hold."""
        with ExitStack() as each:  # also those after one that fails to close
            for env in self._envs:
                each.callback(env.close)


class QuickDiscrete(gymnasium.spaces.Discrete):
    """Asks of a whole number only whether it is one of its own."""

    _low = _high = 0

    def contains(self, x: Any) -> bool:
        """As Gymnasium answers, ten times faster for Python's own numbers."""
        if type(x) is int:
            return self._low <= x <= self._high
        return super().contains(x)

    @classmethod
    def like(cls, space: gymnasium.spaces.Discrete) -> QuickDiscrete:
        """Its equal."""
        made = cls(int(space.n), start=int(space.start))
        made._low, made._high = int(space.start), int(space.start + space.n) - 1
        return made


def check_quickly(env: gymnasium.Env[Any, Any]) -> None:
    """Gymnasium's own environments check every action, which takes a fifth of CartPole's step."""
    own = env.unwrapped
    if type(own).__module__.startswith("gymnasium.envs."):
        space = own.action_space
        if type(space) is gymnasium.spaces.Discrete and space.dtype == np.int64:
            own.action_space = QuickDiscrete.like(space)


def plain_env(config: EnvironmentConfig, **more: Any) -> gymnasium.Env[Any, Any]:
    """One environment, with what it takes beside its own settings (a render mode)."""
    settings: dict[str, Any] = {**config.settings, **more}
    env = _bare_env(config, settings)
    for place in config.wrappers:
        wrap = imported(place, config.folder, setting="environment.wrappers")
        try:
            env = wrap(env)
        except TypeError as error:
            raise EnvironmentFault(
                f"environment.wrappers = '{place}' does not take an environment alone: {error}."
            ) from None
        if not isinstance(env, gymnasium.Env):
            raise EnvironmentFault(
                f"environment.wrappers = '{place}' made a {type(env).__name__}, not an environment."
            )
    for name in ("observation_space", "action_space"):
        if not isinstance(found := getattr(env, name, None), gymnasium.Space):
            raise EnvironmentFault(
                f"environment '{config.id}': {name} is {found!r}: set it to a space of "
                "gymnasium.spaces, in the class or in __init__."
            )
    return env


def _bare_env(config: EnvironmentConfig, settings: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    """By its id, by the import path of a class or function, or as it was handed over."""
    if was_given(config.id):
        return make_given(config.id, **settings)
    module, separated, name = config.id.partition(":")
    if not separated:
        return gymnasium.make(config.id, disable_env_checker=True, **settings)
    # Importing it may register the id; else the name is one of the module's own.
    own_module(module, config.folder, setting=f"environment.id = '{config.id}'")
    if name in gymnasium.registry:
        return gymnasium.make(name, disable_env_checker=True, **settings)
    env = imported(config.id, config.folder, setting="environment.id")(**settings)
    if not isinstance(env, gymnasium.Env):
        raise EnvironmentFault(
            f"environment.id = '{config.id}' made a {type(env).__name__}, not a gymnasium.Env."
        )
    return env


def with_arrays(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """The environment with observations that are arrays: numbers one-hot, tuples joined."""
    if is_array_space(env.observation_space):
        return env
    return gymnasium.wrappers.FlattenObservation(env)


class VectorBackend:
    """A Gymnasium vector environment that leaves resets to us and can give its state."""

    def __init__(self, config: EnvironmentConfig) -> None:
        settings: dict[str, Any] = dict(config.settings)
        self._env: Any = gymnasium.make_vec(
            config.id,
            num_envs=config.count,
            vectorization_mode="vector_entry_point",
            **settings,
        )
        self.spaces = Spaces(self._env.single_observation_space, self._env.single_action_space)
        with ExitStack() as undo:
            undo.callback(self._env.close)
            self._env.reset(seed=0)
            undo.pop_all()

    def reset(self, index: int, seed: int) -> Array:
        """Begin an episode of one of them."""
        mask = np.zeros(self._env.num_envs, dtype=bool)
        mask[index] = True
        seeds = [seed if chosen else None for chosen in mask]
        observations: Array = self._env.reset(seed=seeds, options={"reset_mask": mask})[0]
        return np.asarray(observations[index])

    def step(self, actions: Array) -> Transitions:
        """One step of all of them; none is reset."""
        observations, rewards, terminated, truncated, _ = self._env.step(actions)
        return Transitions(observations, rewards, terminated, truncated, terminated | truncated)

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        return {"vector": self._env.unwrapped.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        """Back to a recorded state; returns what is seen there."""
        self._env.unwrapped.load_state_dict(state["vector"])
        observations: Array = self._env.unwrapped.observe()
        return observations

    def close(self) -> None:
        """Release what they hold."""
        self._env.close()
