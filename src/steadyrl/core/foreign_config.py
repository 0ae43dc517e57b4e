"""A run that another program trained: what is known about it, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from steadyrl.core.choices import Family
from steadyrl.core.config import Settings, setting
from steadyrl.core.errors import ConfigError
from steadyrl.core.registry import config_class
from steadyrl.core.run_config import EnvironmentConfig, RunConfig
from steadyrl.core.traits import COUNTED, Counted, Trait, Unit

# What is known of each kind; one of which nothing is known may have any trait.
TRAITS_OF: Mapping[Family, frozenset[Trait] | None] = {
    "ppo": frozenset({"acts", "on_policy", "clipped"}),
    "trpo": frozenset({"acts", "on_policy", "trust_region"}),
    "a2c": frozenset({"acts"}),  # few samples per update: what holds for PPO does not for it
    "ddpg": frozenset({"acts", "off_policy", "climbs_values"}),
    "td3": frozenset({"acts", "off_policy", "climbs_values"}),
    "sac": frozenset({"acts", "off_policy", "climbs_values"}),
    "dqn": frozenset({"acts", "off_policy"}),
    "grpo": frozenset({"language", "on_policy", "clipped"}),
    "search": frozenset({"acts"}),  # random and evolutionary search: no gradients, no critic
    "unknown": None,
}

# The trainer of ours whose settings are theirs.
OURS: Mapping[Family, str] = {
    "ppo": "ppo",
    "trpo": "trpo",
    "ddpg": "ddpg",
    "td3": "ddpg",
    "sac": "ddpg",
}

Scalar = bool | int | float | str | None


class Doubt(Settings):
    """Why a signal says less than ours."""

    because: str = setting("", "in what it says less")
    trust: float = setting(1.0, "how far it can be trusted", low=0.0, high=1.0)


class ForeignConfig(RunConfig):
    """Settings as far as they are known; everything else about the run is not."""

    mirrored: ClassVar[bool] = False  # others keep a TensorBoard of their own

    algorithm: Literal["foreign"] = setting("foreign", "trained by another program")
    source: str = setting("", "which program recorded it")
    family: Family = setting("unknown", "which algorithm it trains")
    counts: Counted = setting("env steps", "what its record counts in")
    total_env_steps: int = setting(
        0, "steps planned, or of a finished log recorded; 0: not known", low=0
    )
    planned: int = setting(0, "steps planned, if its files say so; 0: not known", low=0)
    environment: EnvironmentConfig = setting(EnvironmentConfig(id="unknown"), "the environment")
    known: dict[str, Scalar] = setting({}, "its settings, by our names")
    weaker: dict[str, Doubt] = setting({}, "signals that say less than ours")

    @property
    def traits(self) -> frozenset[Trait] | None:  # type: ignore[override] # by family here
        """What is known of its algorithm."""
        return TRAITS_OF[self.family]

    @property
    def unit(self) -> Unit:  # type: ignore[override] # by its record here
        """What its steps are."""
        return COUNTED[self.counts]

    @property
    def task(self) -> str:
        """The environment's id, as far as it is known."""
        return self.environment.id

    @property
    def recorded_by(self) -> str:
        """The program that recorded it."""
        return self.source

    def shown(self) -> dict[str, Any]:
        """What is known of it; the rest are settings that only our trainers have."""
        names = ("source", "family", "total_env_steps", "known", "weaker")
        return {name: value for name, value in self.plain().items() if name in names and value}

    def doubt(self, signal: str) -> tuple[float, str] | None:
        """How far a weaker signal can be trusted, and why not further."""
        doubt = self.weaker.get(signal)
        return (doubt.trust, doubt.because) if doubt else None

    def value_of(self, name: str, default: Any = None) -> Any:
        """A setting by our name, if it is known."""
        if name == self.unit.setting:
            return self.total_env_steps
        value = self.known.get(name)
        return default if value is None else value

    def changed(self, name: str, value: Any) -> Self:
        """A copy in which `value_of(name)` is another."""
        return self.replaced({"known": {**self.known, name: value}})


def as_ours(config: RunConfig, logged: Mapping[str, Any]) -> RunConfig | None:
    """Another program's run as a config of our trainer of that kind, as far as it is known.

    `logged` are settings that stand in its log; those given with the run come before them.
    """
    if not isinstance(config, ForeignConfig):
        return config
    trainer = OURS.get(config.family)
    if trainer is None:
        return None
    kind = config_class(trainer)
    ours = kind.parse({"environment": config.environment})
    for name, value in {**logged, **config.known}.items():
        if name not in kind.model_fields:
            continue
        if isinstance(value, int) and isinstance(ours.value_of(name), float):
            value = float(value)  # others write 1 where a number with a point is meant
        try:
            ours = ours.replaced({name: value})
        except ConfigError:  # a value that our trainer would refuse: leave the default
            continue
    return ours
