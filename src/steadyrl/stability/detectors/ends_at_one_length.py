"""D049: every episode terminates after the same number of steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

LENGTH, ENDED = "rollout.length_mean", "rollout.terminated_share"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Lengths that never differ, of episodes that are all said to have ended by themselves."""
    steps = int(limits["steps"])
    lengths, ends = window.last(LENGTH, steps), window.last(ENDED, steps)
    if min(len(lengths), len(ends)) < steps or float(ends.min()) < 1.0:
        return None
    if float(np.ptp(lengths)) > 0 or not float(lengths[0]) > 1:
        return None
    return Sighting(
        f"all episodes terminate after {lengths[0]:.0f} steps: a time limit that is not reported "
        "as truncation, or a task of that length",
        {LENGTH: float(lengths[0])},
    )


RULE = Detector(
    id="D049",
    name="ends-at-one-length",
    severity="note",
    symptom="All episodes terminate, none is truncated, and all after the same number of steps.",
    why="A time limit that is reported as termination teaches that the world ends there.",
    false_alarms="Tasks that end after a fixed number of steps by their nature.",
    reads=(LENGTH, ENDED),
    limits={"steps": 10},
    calibrated_on="an invariant of tasks that can end early: there lengths differ",
    detect=detect,
    traits=("acts",),
)
