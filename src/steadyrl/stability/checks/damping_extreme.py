"""S017: The damping is far from what is known to work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("damping")
    if 1e-06 <= value <= 1:
        return None
    return Sighting(f"damping {value:g} is outside 1e-06 to 1", {"damping": value})


CHECK = Check(
    id="S017",
    name="damping-extreme",
    severity="warning",
    concern="The damping is far from what is known to work.",
    why="Above 1 it outweighs the Fisher matrix, at 0 the system may not be solvable.",
    remedy="Use 0.01 to 0.2.",
    check=check,
    needs=("damping",),
)
