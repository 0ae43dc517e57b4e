"""S015: Very many passes over each rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting
from steadyrl.stability.usual import usual_epochs

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    value = config.value_of("epochs")
    most = usual_epochs(config)
    if value <= most:
        return None
    return Sighting(f"epochs {value:g} is outside 0 to {most}", {"epochs": value})


CHECK = Check(
    id="S015",
    name="epochs-many",
    severity="warning",
    concern="Very many passes over each rollout.",
    why="Later passes optimise a surrogate that no longer resembles the return.",
    remedy="Use 3 to 20, or a target_kl; for language models 1 to 4.",
    check=check,
    needs=("epochs",),
)
