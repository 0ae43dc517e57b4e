"""What is known to be reachable in an environment, and what a policy that knows nothing gets.

Reached: final returns that the SB3 zoo reports per algorithm and environment, with training steps
(DLR-RM/rl-baselines3-zoo, its benchmark file; reference_scores.csv). Random: the mean return of
uniformly random actions over 200 episodes, measured with Gymnasium 1.x; where it was not measured,
the run's own first episodes stand in for it. Thresholds are Gymnasium's.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from steadyrl.core.numbers import amount

if TYPE_CHECKING:
    from steadyrl.core.choices import Family

SOURCE = "SB3 zoo"
RANDOM: Mapping[str, float] = {
    "CartPole-v1": 22.7,
    "Pendulum-v1": -1256.0,
    "MountainCar-v0": -200.0,
    "MountainCarContinuous-v0": -33.2,
    "Acrobot-v1": -497.4,
}
THRESHOLDS: Mapping[str, float] = {
    "CartPole-v1": 475.0,
    "MountainCar-v0": -110.0,
    "MountainCarContinuous-v0": 90.0,
    "Acrobot-v1": -100.0,
    "LunarLander-v3": 200.0,
    "LunarLanderContinuous-v3": 200.0,
    "BipedalWalker-v3": 300.0,
    "BipedalWalkerHardcore-v3": 300.0,
}
_FAMILIES: Mapping[str, Family] = {"qrdqn": "dqn", "tqc": "sac", "ppo_lstm": "ppo", "ars": "search"}
NEAR_RANDOM = 0.1  # of the way: so near, a policy is hardly better than chance


@dataclass(frozen=True, slots=True)
class Reached:
    """A return that somebody has reached."""

    algorithm: str
    environment: str
    score: float
    steps: str  # of training, as the source writes them: 100k, 2M


@dataclass(frozen=True, slots=True)
class Reference:
    """How far a run came on the way from a random policy to what is known to be reachable."""

    environment: str
    random: float
    measured: bool  # false: the run's own first episodes
    reached: float
    by: str  # algorithm and steps, or "Gymnasium's threshold"
    share: float  # of the way

    @property
    def sentence(self) -> str:
        """In words, with the source named."""
        origin = "a random policy" if self.measured else "its own first episodes"
        way = f"{max(self.share, 0.0):.0%} of the way from {origin} ({amount(self.random)})"
        return f"{way} to {amount(self.reached)}, {self.by}"

    @property
    def at_random(self) -> bool:
        """Whether it stands where a policy does that knows nothing."""
        return self.measured and self.share < NEAR_RANDOM


@cache
def _reached() -> Mapping[str, tuple[Reached, ...]]:
    text = resources.files("steadyrl").joinpath("stability", "reference_scores.csv").read_text()
    found: dict[str, list[Reached]] = {}
    for row in csv.DictReader(text.splitlines()):
        one = Reached(
            row["algorithm"], row["environment"], float(row["mean_return"]), row["training_steps"]
        )
        found.setdefault(_base(one.environment), []).append(one)
    return {name: tuple(scores) for name, scores in found.items()}


def _base(environment: str) -> str:
    """An environment without its version, which changes more often than the task."""
    return re.sub(r"-v\d+$", "", environment.rsplit("/", 1)[-1])


def reference(environment: str, family: Family, first: float, last: float) -> Reference | None:
    """How far a run came, if its environment is known; by its own kind of algorithm, if it is."""
    known = _reached().get(_base(environment), ())
    same = [one for one in known if _FAMILIES.get(one.algorithm, one.algorithm) == family]
    best = max(same or known, key=lambda one: one.score, default=None)
    if best is not None:
        version = "" if best.environment == environment else f" in {best.environment}"
        reached = best.score
        by = f"what {best.algorithm} reaches{version} after {best.steps} steps ({SOURCE})"
    elif environment in THRESHOLDS:
        reached, by = THRESHOLDS[environment], "where Gymnasium calls it solved"
    else:
        return None
    chance = RANDOM.get(environment)
    begin = first if chance is None else chance
    if not math.isfinite(begin) or not reached > begin or not math.isfinite(last):
        return None
    share = (last - begin) / (reached - begin)
    return Reference(environment, begin, chance is not None, reached, by, share)


@cache
def sign_of(environment: str) -> int:
    """The sign of every return from a random policy's to the best known; 0: both, or not known."""
    known = [one.score for one in _reached().get(_base(environment), ())]
    known += [THRESHOLDS[environment]] if environment in THRESHOLDS else []
    if environment not in RANDOM or not known:
        return 0
    signs = {math.copysign(1, score) for score in (RANDOM[environment], *known)}
    return int(signs.pop()) if len(signs) == 1 else 0
