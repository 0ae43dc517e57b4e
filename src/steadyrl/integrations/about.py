"""What is known of a run that is watched, and what a callback may do about it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from steadyrl.core.choices import Family, Limits
from steadyrl.core.foreign_config import Doubt, ForeignConfig
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.store.foreign.mapping import OWN, NameTable

# What a callback may do on a severe finding, and how far it lowers a learning rate.
OnSevere = Literal["report", "stop", "lower_learning_rate"]
LOWER = 1.0 / 3.0
LOWERINGS = 3  # at most so many times


def say_on_stderr(line: str) -> None:
    """The default way to tell people."""
    sys.stderr.write(f"steadyrl: {line}\n")


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of a run before it starts."""

    family: Family = "unknown"
    total_env_steps: int = 0
    settings: Mapping[str, Any] | None = None
    environment: str = ""
    seed: int = 0
    source: str = "a loop of its own"
    limits: Limits = "relative"
    weaker: Mapping[str, Doubt] | None = None  # default: what the names say


def config_of(about: About, names: NameTable) -> ForeignConfig:
    """As rules look at it."""
    named = about.source == About.source and names is not OWN
    weaker = names.weaker(names.signals) if about.weaker is None else about.weaker
    return ForeignConfig.parse(
        {
            "source": names.name if named else about.source,
            "family": about.family.lower(),
            "counts": names.counts,
            "total_env_steps": int(about.total_env_steps),
            "environment": EnvironmentConfig(id=about.environment or "unknown"),
            "seed": about.seed,
            "limits": about.limits,
            "known": names.known(about.settings or {}),
            "weaker": dict(weaker),
        },
        source="Watch",
    )
