"""S006: A batch of one transition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    batch = config.value_of("batch_size")
    if batch != 1:
        return None
    return Sighting("batch_size is 1", {"batch_size": 1})


CHECK = Check(
    id="S006",
    name="batch-of-one",
    severity="warning",
    concern="A batch of one transition.",
    why="Gradients are pure noise, and statistics over a batch are undefined.",
    remedy="Use 64 or more.",
    check=check,
    needs=("batch_size",),
)
