"""D167: items are used over and over."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

USES = "aged.uses_max"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """More uses of one item than anybody recommends."""
    uses = window.latest(USES)
    if not uses > limits["uses"]:
        return None
    return Sighting(f"an item was drawn {uses:,.0f} times", {USES: uses})


RULE = Detector(
    id="D167",
    name="items-worn-out",
    severity="warning",
    symptom="The same items are drawn over and over.",
    why="A policy that is trained on the same few samples fits their luck. Two to six uses are "
    "usual, eight to ten bold.",
    false_alarms="A policy that hardly moves bears more.",
    reads=(USES,),
    limits={"uses": 10},
    calibrated_on="the document's own limits; not by runs: with 25 uses CartPole still learned",
    detect=detect,
    traits=("clipped",),
)
