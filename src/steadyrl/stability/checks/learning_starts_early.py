"""S001: Learning starts before the buffer holds one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    starts, batch = config.value_of("learning_starts"), config.value_of("batch_size")
    if starts >= batch:
        return None
    message = f"learning_starts {starts} is below batch_size {batch}"
    return Sighting(message, {"learning_starts": starts, "batch_size": batch})


CHECK = Check(
    id="S001",
    name="learning-starts-early",
    severity="warning",
    concern="Learning starts before the buffer holds one batch.",
    why="The first updates see the same few transitions over and over.",
    remedy="Raise learning_starts to batch_size or more.",
    check=check,
    needs=("learning_starts", "batch_size"),
)
