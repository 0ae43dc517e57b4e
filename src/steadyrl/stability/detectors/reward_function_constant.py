"""D155: one of several reward functions pays everybody the same."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

SPREAD = "language.function_std"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Its spread has been exactly 0 in every update."""
    if window.count(SPREAD) < limits["updates"] or window.highest(SPREAD) > 0:
        return None
    return Sighting(
        f"one of the reward functions has paid every completion of an update the same in all "
        f"{window.count(SPREAD)} updates",
        {SPREAD: 0.0},
    )


RULE = Detector(
    id="D155",
    name="reward-function-constant",
    severity="note",
    symptom="A reward function never tells two completions apart.",
    why="It teaches nothing. Often it does not see the text that it should parse, or fails and "
    "returns its default.",
    false_alarms="A demand that is met from the start, such as a format.",
    reads=(SPREAD,),
    limits={"updates": 10},
    calibrated_on="an invariant: a function that tells anything apart has a spread in some update",
    detect=detect,
    traits=("language",),
)
