"""D165: priorities stay what they were."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

ERROR = "aged.priority_error"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """An invariant: what was just found is what is drawn by."""
    error = window.latest(ERROR)
    if not error > limits["share"]:
        return None
    return Sighting(f"{error:.0%} of the drawn items kept an old priority", {ERROR: error})


RULE = Detector(
    id="D165",
    name="priorities-not-renewed",
    severity="severe",
    symptom="Items that were just used keep the priority they had before.",
    why="The same items are then drawn again and again for a surprise that is long over.",
    false_alarms="None: it is an invariant.",
    reads=(ERROR,),
    limits={"share": 0.01},
    calibrated_on="an invariant; by tests, not by runs",
    detect=detect,
    traits=("clipped",),
)
