"""How good a trained policy is: many fresh episodes, their mean and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray
from scipy import stats

from steadyrl.core.errors import ConfigError
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import play_episodes
from steadyrl.environments.spaces import Space, told
from steadyrl.trained import TrainedPolicy

AT_ONCE = 8  # copies side by side
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Played:
    """One episode, and the seed that its environment was reset with."""

    seed: int
    total: float
    length: int
    terminated: bool


@dataclass(frozen=True)
class Evaluated:
    """What a policy earned in episodes that neither its training nor its evaluations met."""

    run: str
    step: int
    chosen: str
    environment: str
    episodes: tuple[Played, ...]

    @property
    def returns(self) -> Array:
        """Of every episode."""
        return np.array([episode.total for episode in self.episodes])

    @property
    def mean(self) -> float:
        """Of the returns."""
        return float(self.returns.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of the mean, by Student's t; of a single episode nothing can be said."""
        returns = self.returns
        if len(returns) < 2:
            return -math.inf, math.inf
        error = float(returns.std(ddof=1)) / math.sqrt(len(returns))
        reach = error * float(stats.t.ppf(0.975, len(returns) - 1))
        return self.mean - reach, self.mean + reach

    def to_json(self) -> dict[str, Any]:
        """As strict JSON."""
        lengths = np.array([episode.length for episode in self.episodes])
        low, high = self.interval
        return {
            "run": self.run,
            "step": self.step,
            "chosen": self.chosen,
            "environment": self.environment,
            "episodes": len(self.episodes),
            "return_mean": self.mean,
            "interval": [low, high] if math.isfinite(low) else None,
            "return_std": float(self.returns.std()),
            "return_median": float(np.median(self.returns)),
            "return_min": float(self.returns.min()),
            "return_max": float(self.returns.max()),
            "length_mean": float(lengths.mean()),
            "length_min": int(lengths.min()),
            "length_max": int(lengths.max()),
            "terminated_share": float(np.mean([e.terminated for e in self.episodes])),
            "by_seed": [
                {"seed": e.seed, "return": e.total, "length": e.length, "terminated": e.terminated}
                for e in self.episodes
            ],
        }


def evaluate_policy(
    policy: TrainedPolicy,
    *,
    episodes: int = 100,
    seed: int = 0,
    deterministic: bool | None = None,
    environment: EnvironmentConfig | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Evaluated:
    """Play so many episodes. Whether actions are drawn is the run's own setting unless said.

    The episodes are those of the seed: the same for every policy that is asked, and none that the
    best checkpoint was chosen by.
    """
    if episodes < 1:
        raise ConfigError(f"episodes = {episodes}: play 1 or more.")
    world = environment or environment_of(policy)
    deterministic = acts_by_likelihood(policy, deterministic)
    generator = np.random.default_rng(seed)

    def acts(rows: Array) -> Array:
        if deterministic:
            return policy.acting.best(rows)
        return policy.acting.draw(rows, generator)

    played: list[Played] = []
    while len(played) < episodes:
        count = min(AT_ONCE, episodes - len(played))
        copies = world.copies(count)
        with closing(Envs(copies, seed=seed, purpose=f"asked for {len(played)}")) as envs:
            _refuse_other_spaces(policy, envs)
            found = play_episodes(acts, envs).episodes
            played += [
                Played(envs.episode_seed(e.copy), e.total, e.length, e.terminated) for e in found
            ]
        say(f"{len(played)} of {episodes} episodes")
    return Evaluated(str(policy.path), policy.step, policy.chosen.because, world.id, tuple(played))


def acts_by_likelihood(policy: TrainedPolicy, wanted: bool | None) -> bool:
    """Whether it takes its most likely actions: as wanted, else as the run was evaluated."""
    if wanted is not None:
        return wanted
    return bool(policy.config.value_of("evaluation.most_likely", True))


def environment_of(policy: TrainedPolicy) -> EnvironmentConfig:
    """Where the policy was trained, or would be tried."""
    world: EnvironmentConfig | None = policy.config.value_of("environment")
    if world is None or not world.exists:
        raise ConfigError(
            f"{policy.path}: this run knows no environment. Name one: --environment ID."
        )
    return world


def _refuse_other_spaces(policy: TrainedPolicy, envs: Envs) -> None:
    seen, done = policy.spaces.seen, policy.action_space
    if envs.observation_space.shape != seen.shape or not _alike(envs.action_space, done):
        raise ConfigError(
            f"environment '{envs.id}' shows {told(envs.observation_space)} and takes "
            f"{told(envs.action_space)}, but this policy sees {told(seen)} and does {told(done)}."
        )


def _alike(one: Space, other: Space) -> bool:
    """Whether actions of one fit the other; bounds may differ."""
    if isinstance(one, Box):
        return isinstance(other, Box) and one.shape == other.shape
    return one == other
