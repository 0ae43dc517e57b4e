"""S004: Exploration noise is absent or drowns the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    noise = config.value_of("noise_std")
    if 0.01 <= noise <= 0.5:
        return None
    return Sighting(f"noise_std {noise:g} is outside 0.01 to 0.5", {"noise_std": noise})


CHECK = Check(
    id="S004",
    name="noise-extreme",
    severity="warning",
    concern="Exploration noise is absent or drowns the policy.",
    why="Actions span -1 to 1: noise of 1 plays at random, noise of 0 tries nothing new.",
    remedy="Use 0.05 to 0.3.",
    check=check,
    needs=("noise_std",),
)
