"""Atari games through ALE's own vector environment, with ends and starts that we decide.

ALE steps all copies in C++ and hands out grey 84 x 84 frames, four of them stacked. Three things
it does differently from what training needs, so they are done here: a lost life can end what may
be earned while the game goes on (its own `episodic_life` restarts the game), the fire button
is pressed after a lost life too, and scores stay unclipped (the learner clips, the log does not).

Giving a copy a new seed makes ALE load the game again, which costs as much as hundreds of steps.
So a copy is seeded at its beginning and then only when its log has grown long; in between its own
randomness goes on. Its state is the seed, the actions since and where it was reset.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any, cast

import ale_py
import gymnasium
import numpy as np

from steadyrl.core.errors import EnvironmentFault
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.backends import Array, Transitions
from steadyrl.environments.spaces import Spaces

LONGEST_LOG = 4096  # actions; a resumed run plays at most these and an episode again
OURS = ("episodic_life", "reward_clipping", "autoreset_mode", "life_loss_info")

gymnasium.register_envs(ale_py)


class AtariBackend:
    """`count` copies of one game."""

    def __init__(self, config: EnvironmentConfig) -> None:
        settings: dict[str, Any] = {"num_threads": 1, **config.settings}
        self._episodic_life = bool(settings.pop("episodic_life", False))
        for name in OURS:
            if name in settings:
                raise EnvironmentFault(
                    f"environment.settings.{name} is not yours to set for '{config.id}': the "
                    "trainer's reward_clip clips rewards, resets are steadyrl's own."
                )
        if settings.get("continuous") or settings.get("grayscale") is False:
            raise EnvironmentFault(
                f"environment '{config.id}' is played with buttons and grey frames: remove "
                "'continuous' and 'grayscale' from environment.settings."
            )
        self._fires = settings.get("use_fire_reset", True) and _fire_button(config.id, settings)
        self._env: Any = gymnasium.make_vec(
            config.id,
            num_envs=config.count,
            vectorization_mode="vector_entry_point",
            reward_clipping=False,
            **settings,
        )
        self.spaces = Spaces(self._env.single_observation_space, self._env.single_action_space)
        # ALE fires for one frame at the start, which sticky actions may swallow: then a policy that
        # never fires would wait for ever. A whole step of firing hardly ever fails.
        spec: Any = self._env.spec
        sticky = spec.kwargs.get("repeat_action_probability", 0.25) > 0
        self._fires_first = bool(self._fires) and sticky
        with ExitStack() as undo:
            undo.callback(self._env.close)
            self._env.reset(seed=0)
            undo.pop_all()
        self._seeds: list[int | None] = [None] * config.count
        self._actions: list[list[int]] = [[] for _ in range(config.count)]
        self._resets: list[list[int]] = [[] for _ in range(config.count)]
        self._lives = np.zeros(config.count, dtype=np.int32)
        self._fire_next = np.zeros(config.count, dtype=bool)

    def reset(self, index: int, seed: int) -> Array:
        """Begin an episode of one of them."""
        if self._seeds[index] is None or len(self._actions[index]) >= LONGEST_LOG:
            # ALE takes 31 bits.
            self._seeds[index] = seed % 2**31
            self._actions[index], self._resets[index] = [], []
        else:
            self._resets[index].append(len(self._actions[index]))
        return self._begin(index, seeded=not self._resets[index])

    def step(self, actions: Array) -> Transitions:
        """One step of all of them; none is reset."""
        if self._fire_next.any():
            actions = np.where(self._fire_next, self._fires, actions)
        for log, action in zip(self._actions, actions.tolist(), strict=True):
            log.append(action)
        observations, rewards, over, truncated, info = self._env.step(actions)
        lost = (info["lives"] < self._lives) & ~over
        self._lives = info["lives"]
        self._fire_next = lost & bool(self._fires)
        return Transitions(
            observations,
            rewards.astype(np.float64),
            over | lost if self._episodic_life else over,
            truncated,
            over | truncated,
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything the coming steps depend on."""
        return {
            "seeds": list(self._seeds),
            "actions": [np.array(log, dtype=np.uint8) for log in self._actions],
            "resets": [np.array(log, dtype=np.int64) for log in self._resets],
            "lives": self._lives.copy(),
            "fire next": self._fire_next.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> Array:
        """Back to a recorded state; returns what is seen there.

        All copies step together, so logs are aligned at their ends: a copy whose log is shorter
        plays anything until its turn comes and it is seeded.
        """
        self._seeds = [int(seed) for seed in state["seeds"]]
        self._actions = [np.asarray(log).tolist() for log in state["actions"]]
        self._resets = [np.asarray(log).tolist() for log in state["resets"]]
        longest = max(len(log) for log in self._actions)
        waits = [longest - len(log) for log in self._actions]
        observations: Array = np.zeros(0)
        for time in range(longest + 1):
            for index, wait in enumerate(waits):
                if time == wait:
                    self._begin(index, seeded=True)
                for _ in range(self._resets[index].count(time - wait)):
                    self._begin(index, seeded=False)
            if time < longest:
                self._env.step(
                    np.array(
                        [
                            log[time - wait] if time >= wait else 0
                            for log, wait in zip(self._actions, waits, strict=True)
                        ]
                    )
                )
        # A reset of nobody shows what everybody sees.
        nobody = np.zeros(len(waits), dtype=bool)
        observations = self._env.reset(options={"reset_mask": nobody})[0]
        self._lives = np.asarray(state["lives"], dtype=np.int32)
        self._fire_next = np.asarray(state["fire next"], dtype=bool)
        return observations

    def close(self) -> None:
        """Release what they hold."""
        self._env.close()

    def _begin(self, index: int, *, seeded: bool) -> Array:
        mask = np.zeros(len(self._seeds), dtype=bool)
        mask[index] = True
        seed = np.array([self._seeds[index]]) if seeded else None
        observations, info = self._env.reset(seed=seed, options={"reset_mask": mask})
        self._lives = np.where(mask, info["lives"], self._lives)
        self._fire_next[index] = self._fires_first
        return np.asarray(observations[index])


def _fire_button(game: str, settings: Mapping[str, Any]) -> int:
    """The number of the action that only fires; 0 (do nothing) where a game has none."""
    chosen = {name: settings[name] for name in ("full_action_space",) if name in settings}
    with closing(gymnasium.make(game, **chosen)) as env:
        meanings: list[str] = cast(Any, env.unwrapped).get_action_meanings()
    return meanings.index("FIRE") if "FIRE" in meanings else 0
