"""S014: The entropy bonus may outweigh the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting
from steadyrl.stability.usual import usual_entropy_weight

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("entropy_weight")
    most = usual_entropy_weight(config)
    if value <= most:
        return None
    return Sighting(f"entropy_weight {value:g} is outside 0 to {most:g}", {"entropy_weight": value})


CHECK = Check(
    id="S014",
    name="entropy-weight-extreme",
    severity="warning",
    concern="The entropy bonus may outweigh the reward.",
    why="Normalised advantages are about 1: a weight near that pays the policy for being random.",
    remedy="Use 0 to 0.02.",
    check=check,
    needs=("entropy_weight",),
)
