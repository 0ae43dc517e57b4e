"""Environments side by side, with true successors, honest episode ends and a restorable state.

We reset, never the environment: Gymnasium's autoreset hides the final observation behind the next
episode's first one, and its three modes hide it in three ways. Each episode is seeded on its own,
so an environment is a function of (seed, actions): its state is saved either by asking for it
(`state_dict`) or by replaying the current episode's actions, whatever the environment is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from steadyrl.core.errors import EnvironmentFault, TrainingDiverged
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.core.seeding import integer_seed
from steadyrl.environments.backends import Transitions
from steadyrl.environments.make import make_backend
from steadyrl.environments.spaces import told, why_unusable
from steadyrl.maths.finite import all_finite

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished episode of one of the copies."""

    copy: int
    total: float
    length: int
    terminated: bool


class Envs:
    """`count` environments of one kind. `observations` is what the policy must act on next."""

    def __init__(self, config: EnvironmentConfig, *, seed: int, purpose: str = "training") -> None:
        self.id, self.count = config.id, config.count
        self._seed, self._purpose = seed, purpose
        self._backend = make_backend(config)
        with ExitStack() as undo:
            undo.callback(self._backend.close)
            self._begin_all()
            undo.pop_all()

    def _begin_all(self) -> None:
        self.spaces = self._backend.spaces
        self.observation_space, self.action_space = self.spaces.seen, self.spaces.action
        why = why_unusable(self.spaces.observation)
        if why is not None:
            space = told(self.spaces.observation)
            raise EnvironmentFault(f"environment '{self.id}' has observation space {space}, {why}")
        self.steps_taken = 0
        self.recent: deque[Episode] = deque(maxlen=100)
        self.finished: list[Episode] = []  # since the caller last emptied it
        self._episodes_begun = np.zeros(self.count, dtype=np.int64)
        self._totals = np.zeros(self.count)
        self._lengths = np.zeros(self.count, dtype=np.int64)
        self.observations: Array = np.stack([self._begin(index) for index in range(self.count)])

    def step(self, actions: Array) -> Transitions:
        """Step all; begin a new episode where one ended, after its end has been recorded."""
        if not all_finite(actions):
            raise TrainingDiverged(
                f"the policy's action at environment step {self.steps_taken} is not a number: its "
                "weights are no longer finite. Go back to the last good checkpoint and lower the "
                "learning rate or the reward scale."
            )
        result = self._backend.step(actions)
        next_observations, rewards = result.next_observations, result.rewards
        self.steps_taken += self.count
        if not all_finite(next_observations, rewards):
            self._refuse_non_finite(next_observations, rewards)
        self._totals += rewards
        self._lengths += 1
        self.observations = next_observations
        if np.count_nonzero(result.over):
            self.observations = next_observations.copy()
            for index in np.flatnonzero(result.over):
                self._end(int(index), bool(result.terminated[index]))
                self.observations[index] = self._begin(int(index))
        return result

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

    def episode_seed(self, copy: int, number: int = 0) -> int:
        """What the environment is reset with for an episode of a copy."""
        return integer_seed(self._seed, self._purpose, copy, number)

    def _begin(self, index: int) -> Array:
        seed = self.episode_seed(index, int(self._episodes_begun[index]))
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
