"""Evaluation: the policy alone, without exploration, on episodes with seeds of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.configs.run import RunConfig
from steadyrl.environments.envs import Envs, Episode

Policy = Callable[[NDArray[Any]], NDArray[Any]]


def evaluate(policy: Policy, config: RunConfig, *, index: int) -> dict[str, float]:
    """Mean and standard deviation of the return, and mean length, as signals.

    Evaluation `index` of a seed always meets the same episodes, so it needs no state of its own
    and two configs with one seed are judged on the same starts.
    """
    episodes = first_episodes(policy, config, count=config.evaluation.episodes, index=index)
    totals = np.array([episode.total for episode in episodes])
    return {
        "eval.return_mean": float(totals.mean()),
        "eval.return_std": float(totals.std()),
        "eval.length_mean": float(np.mean([episode.length for episode in episodes])),
    }


def first_episodes(policy: Policy, config: RunConfig, *, count: int, index: int) -> list[Episode]:
    """The first episode of each of `count` copies, played side by side."""
    environment = config.environment.model_copy(update={"count": count})
    envs = Envs(environment, seed=config.seed, purpose=f"evaluation {index}")
    first: dict[int, Episode] = {}
    while len(first) < count:
        envs.step(policy(envs.observations))
        for episode in envs.finished:
            first.setdefault(episode.copy, episode)
        envs.finished.clear()
    envs.close()
    return [first[copy] for copy in range(count)]
