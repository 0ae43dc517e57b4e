"""S014: The entropy bonus may outweigh the reward."""

from __future__ import annotations

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = getattr(config, "entropy_weight", None)
    if value is None or value <= 0.1:
        return None
    return Sighting(f"entropy_weight {value:g} is outside 0 to 0.1", {"entropy_weight": value})


CHECK = Check(
    id="S014",
    name="entropy-weight-extreme",
    severity="warning",
    concern="The entropy bonus may outweigh the reward.",
    why="Normalised advantages are about 1: a weight near that pays the policy for being random.",
    remedy="Use 0 to 0.02.",
    check=check,
)
