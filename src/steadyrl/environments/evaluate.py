"""Evaluation: the policy alone, without exploration, on episodes with seeds of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.errors import EnvironmentFault
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.envs import Envs, Episode

LONGEST = 100_000  # steps after which an evaluation episode is taken to be endless
Acts = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The first episode of each copy: where it began, what it earned."""

    starts: NDArray[Any]
    episodes: tuple[Episode, ...]
    discounted: NDArray[np.float64]

    def signals(self) -> dict[str, float]:
        """Mean and standard deviation of the return, and mean length."""
        totals = np.array([episode.total for episode in self.episodes])
        return {
            "eval.return_mean": float(totals.mean()),
            "eval.return_std": float(totals.std()),
            "eval.discounted_mean": float(self.discounted.mean()),
            "eval.discounted_std": float(self.discounted.std()),
            "eval.length_mean": float(np.mean([episode.length for episode in self.episodes])),
        }


def evaluate(
    policy: Acts,
    environment: EnvironmentConfig,
    *,
    episodes: int,
    seed: int,
    index: int,
    gamma: float,
) -> Evaluation:
    """Play one episode in each of so many copies, side by side.

    Evaluation `index` of a seed always meets the same episodes, so it needs no state of its own
    and two configs with one seed are judged on the same starts.
    """
    copies = environment.copies(episodes)
    with closing(Envs(copies, seed=seed, purpose=f"evaluation {index}")) as envs:
        return play_episodes(policy, envs, gamma)


def play_episodes(policy: Acts, envs: Envs, gamma: float = 1.0) -> Evaluation:
    """The first episode of each copy."""
    count = envs.count
    starts, discounted, discount = envs.observations.copy(), np.zeros(count), 1.0
    running = np.ones(count, dtype=bool)
    while running.any():
        if envs.steps_taken >= LONGEST * count:
            raise EnvironmentFault(
                f"environment '{envs.id}': an evaluation episode has not ended after {LONGEST:,} "
                "steps. Give the environment a time limit (gymnasium.wrappers.TimeLimit)."
            )
        result = envs.step(policy(envs.observations))
        discounted += discount * result.rewards * running
        discount *= gamma
        running &= ~result.over
    first: dict[int, Episode] = {}
    for episode in envs.finished:
        first.setdefault(episode.copy, episode)
    return Evaluation(starts, tuple(first[copy] for copy in range(count)), discounted)
