"""S002: The buffer holds fewer than ten batches."""

from __future__ import annotations

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    size, batch = getattr(config, "buffer_size", None), getattr(config, "batch_size", 0)
    if size is None or size >= 10 * batch:
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
)
