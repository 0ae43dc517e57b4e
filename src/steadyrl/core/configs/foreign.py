"""A run that another program trained: what is known about it, and how far it can be trusted."""

from __future__ import annotations

from typing import Any, Literal, Self

from steadyrl.core.config import Settings, setting
from steadyrl.core.configs.run import EnvironmentConfig, RunConfig

Family = Literal["ppo", "trpo", "a2c", "ddpg", "td3", "sac", "dqn", "grpo", "unknown"]

# Whose rules hold for a family that has none of its own.
RULES_OF = {"td3": "ddpg", "sac": "ddpg"}

Scalar = bool | int | float | str | None


class Doubt(Settings):
    """Why a signal says less than ours."""

    because: str = setting("", "in what it says less")
    trust: float = setting(1.0, "how far it can be trusted", low=0.0, high=1.0)


class ForeignConfig(RunConfig):
    """Settings as far as they are known; everything else about the run is not."""

    algorithm: Literal["foreign"] = setting("foreign", "trained by another program")
    source: str = setting("", "which program recorded it")
    family: Family = setting("unknown", "which algorithm it trains")
    total_env_steps: int = setting(0, "environment steps planned; 0: not known", low=0)
    environment: EnvironmentConfig = setting(EnvironmentConfig(id="unknown"), "the environment")
    known: dict[str, Scalar] = setting({}, "its settings, by our names")
    weaker: dict[str, Doubt] = setting({}, "signals that say less than ours")

    @property
    def judged_as(self) -> str:
        """Whose rules hold; 'unknown' for those of all."""
        return RULES_OF.get(self.family, self.family)

    def shown(self) -> dict[str, Any]:
        """What is known of it; the rest are settings that only our trainers have."""
        names = ("source", "family", "total_env_steps", "known", "weaker")
        return {name: value for name, value in self.plain().items() if name in names and value}

    def doubt(self, signal: str) -> tuple[float, str] | None:
        """How far a weaker signal can be trusted, and why not further."""
        doubt = self.weaker.get(signal)
        return (doubt.trust, doubt.because) if doubt else None

    def value_of(self, name: str) -> Any:
        """A setting by our name, if it is known."""
        return self.known.get(name)

    def changed(self, name: str, value: Any) -> Self:
        """A copy in which `value_of(name)` is another."""
        return self.replaced({"known": {**self.known, name: value}})
