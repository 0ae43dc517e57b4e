"""What a config class says of its algorithm, so that nothing else need ask which one it is.

Rules, checks, remedies and checklists name the traits they hold for; tables, axes and sentences use
the unit a run counts in; experiments compare runs by their score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Trait = Literal[
    "acts",
    "on_policy",
    "clipped",
    "trust_region",
    "off_policy",
    "climbs_values",
    "cloning",
    "language",
]

MEANINGS: Mapping[Trait, str] = {
    "acts": "acts in an environment",
    "on_policy": "learns from rollouts of its own policy",
    "clipped": "holds its policy back by clipping probability ratios (PPO)",
    "trust_region": "holds its policy back by a trust region and a line search (TRPO)",
    "off_policy": "learns action values from replayed transitions (DDPG, TD3, SAC, DQN)",
    "climbs_values": "has an actor that climbs the learned action values (DDPG, TD3, SAC)",
    "cloning": "learns from recorded demonstrations",
    "language": "trains a language model on rewards for its completions",
}

assert set(MEANINGS) == set(get_args(Trait))


@dataclass(frozen=True, slots=True)
class Unit:
    """What a run counts in: its budget, its axes, its `Step.taken`."""

    one: str
    many: str
    setting: str  # the budget

    def of(self, count: int) -> str:
        """A count in words: 1 env step, 20,000 env steps."""
        return f"{count:,} {self.one if count == 1 else self.many}"


ENV_STEPS = Unit("env step", "env steps", "total_env_steps")
GRADIENT_STEPS = Unit("gradient step", "gradient steps", "total_gradient_steps")
SAMPLES = Unit("sample", "samples", "total_samples")

# What other programs' records count in; their budget is always that of `total_env_steps`.
Counted = Literal["env steps", "training steps", "steps", "updates", "epochs", "episodes", "rows"]
COUNTED: Mapping[Counted, Unit] = {
    name: Unit(name.removesuffix("s"), name, ENV_STEPS.setting) for name in get_args(Counted)
}


@dataclass(frozen=True, slots=True)
class Score:
    """What a run is compared by: a signal, and what counts as its end."""

    name: str
    signal: str
    higher_is_better: bool = True
    last: int | None = None  # the median of so many values, not the mean of the last tenth

    def rank(self, value: float) -> float:
        """The value, or its negative where lower is better: the higher the better."""
        return value if self.higher_is_better else -value


RETURN = Score("return", "eval.return_mean")
