"""S016: The trust region is far from what is known to work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("max_kl")
    if 0.0005 <= value <= 0.1:
        return None
    return Sighting(f"max_kl {value:g} is outside 0.0005 to 0.1", {"max_kl": value})


CHECK = Check(
    id="S016",
    name="trust-region-extreme",
    severity="warning",
    concern="The trust region is far from what is known to work.",
    why="Too wide and the local model means nothing, too narrow and nothing is learned in the "
    "budget.",
    remedy="Use 0.005 to 0.03.",
    check=check,
    needs=("max_kl",),
)
