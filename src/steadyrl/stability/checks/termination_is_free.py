"""S007: Every step costs and ending early is free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from steadyrl.maths.horizon import horizon
from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    settings = config.value_of("environment.settings")
    if not config.task.endswith("ResidualControl-v0"):
        return None
    alive, penalty = settings.get("alive_cost", 0.5), settings.get("termination_penalty", 0.0)
    if not isinstance(alive, float | int) or not isinstance(penalty, float | int):
        return None
    if alive <= 0:
        return None
    living = alive * horizon(config.value_of("gamma", 0.99))
    if penalty >= living:
        return None
    cost = f"{living:.3g} steps' worth" if living < math.inf else "more than any penalty"
    message = f"living on costs {cost}, ending the episode {penalty:.3g}"
    return Sighting(message, {"alive_cost": alive, "termination_penalty": penalty})


CHECK = Check(
    id="S007",
    name="termination-is-free",
    severity="severe",
    concern="Every step costs and ending early is free.",
    why="The best policy is then to fail at once; any competent learner will find it.",
    remedy="Set a termination_penalty of about 0.75 / (1 - gamma) steps' cost.",
    check=check,
    needs=("environment.settings",),
    traits=("acts",),
)
