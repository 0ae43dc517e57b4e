"""S015: Very many passes over each rollout."""

from __future__ import annotations

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("epochs")
    if value <= 30:
        return None
    return Sighting(f"epochs {value:g} is outside 0 to 30", {"epochs": value})


CHECK = Check(
    id="S015",
    name="epochs-many",
    severity="warning",
    concern="Very many passes over each rollout.",
    why="Later passes optimise a surrogate that no longer resembles the return.",
    remedy="Use 3 to 20, or a target_kl.",
    check=check,
    needs=("epochs",),
)
