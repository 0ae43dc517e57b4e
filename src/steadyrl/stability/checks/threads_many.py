"""S010: More torch threads than spare cores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    threads, cores = config.compute.threads, os.cpu_count() or 1
    if threads <= max(1, cores // 2):
        return None
    message = f"compute.threads {threads} on {cores} cores"
    return Sighting(message, {"threads": threads, "cores": cores})


CHECK = Check(
    id="S010",
    name="threads-many",
    severity="note",
    concern="More torch threads than spare cores.",
    why="Spinning threads slow each other down by an order of magnitude when anything else runs.",
    remedy="Use one thread, and spare cores for more seeds.",
    check=check,
)
