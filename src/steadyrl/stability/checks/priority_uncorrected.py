"""S026: Priorities without a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    beta = config.value_of("replay.beta")
    uneven = config.value_of("replay.enabled") and config.value_of("replay.priority") != "uniform"
    if not uneven or beta > 0 or config.value_of("replay.beta_growth") > 0:
        return None
    return Sighting("replay.beta 0: draws are uneven and nothing corrects for it", {"beta": beta})


CHECK = Check(
    id="S026",
    name="priority-uncorrected",
    severity="warning",
    concern="Items are drawn by priority, and all count alike.",
    why="What is drawn more often then counts more, and the policy is trained for situations in "
    "proportions that it never meets.",
    remedy="Use replay.beta 0.4 and replay.beta_growth 0.001.",
    check=check,
    needs=("replay.enabled",),
)
