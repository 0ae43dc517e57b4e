"""D032: memory is being moved to disk."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Swap traffic while training."""
    if not window.latest("machine.swap_mb_per_second") >= limits["mb_per_second"]:
        return None
    pages = window.last("machine.swap_mb_per_second", 5)
    if len(pages) < 5 or float(pages.min()) < limits["mb_per_second"]:
        return None
    return Sighting(
        f"{float(pages[-1]):.1f} MB per second go to or come from swap",
        {"machine.swap_mb_per_second": float(pages[-1])},
    )


RULE = Detector(
    id="D032",
    name="swapping",
    severity="warning",
    symptom="The machine swaps while training.",
    why="A replay buffer in swap is hundreds of times slower than in memory.",
    false_alarms="Another program that was just woken up.",
    reads=("machine.swap_mb_per_second",),
    limits={"mb_per_second": 1.0},
    calibrated_on="not calibrated: a starting point; no run here has ever swapped",
    detect=detect,
    concerns="machine",
)
