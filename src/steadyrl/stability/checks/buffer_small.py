"""S002: The buffer holds fewer than ten batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    size, batch = config.value_of("buffer_size"), config.value_of("batch_size")
    if size >= 10 * batch:
        return None
    message = f"buffer_size {size} holds {size / batch:.1f} batches of {batch}"
    return Sighting(message, {"buffer_size": size, "batch_size": batch})


CHECK = Check(
    id="S002",
    name="buffer-small",
    severity="warning",
    concern="The buffer holds fewer than ten batches.",
    why="Batches overlap almost entirely: learning becomes correlated.",
    remedy="Raise buffer_size to a hundred batches or more.",
    check=check,
    needs=("buffer_size", "batch_size"),
)
