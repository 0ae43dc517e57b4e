"""S005: The learning rate is far from what is known to work with Adam."""

from __future__ import annotations

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    rate = config.value_of("learning_rate")
    if 1e-5 <= rate <= 5e-3:
        return None
    return Sighting(f"learning_rate {rate:g} is outside 0.00001 to 0.005", {"learning_rate": rate})


CHECK = Check(
    id="S005",
    name="learning-rate-extreme",
    severity="warning",
    concern="The learning rate is far from what is known to work with Adam.",
    why="Too high and the critic diverges, too low and nothing is learned in the budget.",
    remedy="Use 1e-4 to 3e-3.",
    check=check,
    needs=("learning_rate",),
)
