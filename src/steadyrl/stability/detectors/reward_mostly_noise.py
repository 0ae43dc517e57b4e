"""D048: like transitions do not earn alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned
from steadyrl.stability.window import Window

NOISE = "environment.reward_noise"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Most of the reward's variance is not shared by neighbours, and nothing was learned."""
    if window.count(NOISE) < limits["looks"]:
        return None
    share = float(np.median(window.last(NOISE)))
    if not share > limits["share"] or learned(window) == "yes":  # the dearer question second
        return None
    return Sighting(
        f"{min(share, 1.0):.0%} of the reward's variance is not shared by transitions that are "
        "nearly alike",
        {NOISE: share},
    )


RULE = Detector(
    id="D048",
    name="reward-mostly-noise",
    severity="warning",
    symptom="Transitions that are nearly alike earn very different rewards.",
    why="Noise of the size of the signal costs many times the samples; far above it nothing is "
    "learned.",
    false_alarms="Rewards that depend on what is not observed, and rare rewards.",
    reads=(NOISE,),
    limits={"looks": 3, "share": 0.8},
    calibrated_on="2,000 random steps of Pendulum and MountainCarContinuous: 0.01 and 0.07; a "
    "point that is paid by where it is, with noise of ten times that: 0.99",
    detect=detect,
    traits=("acts",),
)
