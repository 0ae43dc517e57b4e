"""S005: The learning rate is far from what is known to work with Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting
from steadyrl.stability.usual import usual_rates

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    rate = config.value_of("learning_rate")
    low, high = usual_rates(config) if config.is_a("language") else (1e-5, 5e-3)
    if low <= rate <= high:
        return None
    return Sighting(
        f"learning_rate {rate:g} is outside {low:g} to {high:g}", {"learning_rate": rate}
    )


CHECK = Check(
    id="S005",
    name="learning-rate-extreme",
    severity="warning",
    concern="The learning rate is far from what is known to work with Adam.",
    why="Too high and the critic diverges, too low and nothing is learned in the budget.",
    remedy="Use 1e-4 to 3e-3; for language models 1e-7 to 1e-4, with adapters up to 5e-4.",
    check=check,
    needs=("learning_rate",),
)
