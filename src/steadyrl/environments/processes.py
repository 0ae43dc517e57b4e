"""Copies of a slow environment, each in a process of its own (Gymnasium's AsyncVectorEnv).

The state is the same as in one process, seeds and actions, so that runs resume exactly where their
environment repeats itself, and give the same Steps in any number of processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.backends import Array, Transitions, plain_env, with_arrays
from steadyrl.environments.contract import FirstEpisodes, explained
from steadyrl.environments.spaces import Spaces

PATIENCE = 10.0  # seconds for a step under way, when all is to end


class Repeatable(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One copy in its process; it comes back to a state by playing its episode again."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int) -> None:
        super().__init__(env)
        self._index = index

    def come_back(self, seeds: list[int], actions: list[Array]) -> Array:
        """What is seen after the actions of this copy's episode."""
        observation = self.env.reset(seed=seeds[self._index])[0]
        for action in actions[self._index]:
            observation = self.env.step(action)[0]
        return np.asarray(observation)


def _make(config: EnvironmentConfig, index: int, home: int) -> Repeatable:
    if os.getpid() != home:  # AsyncVectorEnv makes one at home, too, to see its spaces
        # What a run does on signals is not for its copies: Ctrl-C and a closed terminal are for the
        # run to hear, and what ends a copy ends it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    env = plain_env(config)
    looked_at = FirstEpisodes(env, config.id) if index == 0 else env
    return Repeatable(with_arrays(looked_at), index)


class ProcessBackend:
    """As many processes as copies."""

    def __init__(self, config: EnvironmentConfig) -> None:
        with_spaces = plain_env(config)
        self.spaces = Spaces(with_spaces.observation_space, with_spaces.action_space)
        with_spaces.close()
        self._id, self._count = config.id, config.count
        self._envs: Any = AsyncVectorEnv(
            [partial(_make, config, index, os.getpid()) for index in range(config.count)],
            autoreset_mode=AutoresetMode.DISABLED,
        )
        self._seeds = [0] * config.count
        self._actions: list[list[Array]] = [[] for _ in range(config.count)]

    def reset(self, index: int, seed: int) -> Array:
        """Begin an episode of one of them."""
        self._seeds[index], self._actions[index] = seed, []
        mask = np.zeros(self._count, dtype=bool)
        mask[index] = True
        seeds = [seed if chosen else None for chosen in mask]
        try:
            observations = self._envs.reset(seed=seeds, options={"reset_mask": mask})[0]
        except Exception as error:
            raise explained(self._id, error, "reset()") from error
        return np.array(observations[index])

    def step(self, actions: Array) -> Transitions:
        """One step of all of them; none is reset."""
        for log, action in zip(self._actions, actions, strict=True):
            log.append(action)
        try:
            observations, rewards, terminated, truncated, _ = self._envs.step(actions)
        except Exception as error:
            raise explained(self._id, error, "step()") from error
        over = terminated | truncated
        return Transitions(np.array(observations), rewards, terminated, truncated, over)

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        return {"seeds": list(self._seeds), "actions": [np.array(log) for log in self._actions]}

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        """Back to a recorded state; returns what is seen there."""
        self._seeds = [int(seed) for seed in state["seeds"]]
        self._actions = [list(log) for log in state["actions"]]
        return np.stack(self._envs.call("come_back", self._seeds, self._actions))

    def close(self) -> None:
        """End the processes, each after its environment was closed if it still answers."""
        try:
            self._envs.close(timeout=PATIENCE)
        except gymnasium.error.ClosedEnvironmentError:
            return
        except Exception:  # a copy that failed, or its process did
            self._envs.close(terminate=True)
