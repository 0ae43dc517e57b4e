"""S003: tau is far from what is known to work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    tau = config.value_of("tau")
    if 1e-4 <= tau <= 0.1:
        return None
    return Sighting(f"tau {tau:g} is outside 0.0001 to 0.1", {"tau": tau})


CHECK = Check(
    id="S003",
    name="tau-extreme",
    severity="warning",
    concern="tau is far from what is known to work.",
    why="Near 0 the targets never learn; near 1 there is no target network.",
    remedy="Use 0.005, or 0.001 to 0.05.",
    check=check,
    needs=("tau",),
)
