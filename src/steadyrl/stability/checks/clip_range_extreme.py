"""S013: PPO's clip range is far from what is known to work."""

from __future__ import annotations

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("clip_range")
    if 0.05 <= value <= 0.5:
        return None
    return Sighting(f"clip_range {value:g} is outside 0.05 to 0.5", {"clip_range": value})


CHECK = Check(
    id="S013",
    name="clip-range-extreme",
    severity="warning",
    concern="PPO's clip range is far from what is known to work.",
    why="Too wide and nothing holds the policy back, too narrow and nearly every sample is "
    "clipped.",
    remedy="Use 0.1 to 0.3.",
    check=check,
    needs=("clip_range",),
)
