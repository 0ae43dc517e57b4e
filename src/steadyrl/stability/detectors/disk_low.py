"""D033: the run's disk is filling up."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Free space below the limit; severe when the next checkpoint may not fit."""
    free = window.latest("machine.disk_free_gb")
    if not free < limits["gb"]:
        return None
    severe = free < limits["severe_gb"]
    return Sighting(
        f"{free:.2f} GB are left on the run's disk",
        {"machine.disk_free_gb": free},
        "severe" if severe else None,
    )


RULE = Detector(
    id="D033",
    name="disk-low",
    severity="warning",
    symptom="Little space is left where the run is written.",
    why="A full disk ends the run at the next checkpoint.",
    false_alarms="None.",
    reads=("machine.disk_free_gb",),
    limits={"gb": 1.0, "severe_gb": 0.1},
    calibrated_on="a limit, not a statistic",
    detect=detect,
    concerns="machine",
)
