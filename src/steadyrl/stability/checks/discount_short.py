"""S009: The discount sees only a few steps ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.maths.horizon import horizon
from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    gamma = config.value_of("gamma")
    if gamma >= 0.9:
        return None
    return Sighting(f"gamma {gamma:g} sees {horizon(gamma):.1f} steps ahead", {"gamma": gamma})


CHECK = Check(
    id="S009",
    name="discount-short",
    severity="warning",
    concern="The discount sees only a few steps ahead.",
    why="Consequences beyond 1 / (1 - gamma) steps are invisible to the agent.",
    remedy="Use 0.98 to 0.995.",
    check=check,
    needs=("gamma",),
)
