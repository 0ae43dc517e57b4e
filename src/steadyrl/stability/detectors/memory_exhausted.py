"""D034: the machine runs out of memory."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Hardly any memory left; an update that did not fit is told by the run itself."""
    free = window.latest("machine.memory_free_share")
    if not free < limits["share"]:
        return None
    return Sighting(
        f"{free:.1%} of the machine's memory is left",
        {"machine.memory_free_share": free},
        severity="severe" if free < limits["severe_share"] else "warning",
    )


RULE = Detector(
    id="D034",
    name="memory-exhausted",
    severity="severe",
    symptom="An update did not fit into memory, or hardly any is left.",
    why="The run ends in the middle of an update, or the machine begins to swap.",
    false_alarms="Memory that other programs hold and give back. Inside a container the machine's "
    "memory may not be what the run is allowed.",
    reads=("machine.memory_free_share",),
    limits={"share": 0.03, "severe_share": 0.01},
    calibrated_on="a limit, not a statistic",
    detect=detect,
    concerns="machine",
)
