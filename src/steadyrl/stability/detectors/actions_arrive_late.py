"""D047: an action shows some steps later, never at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned
from steadyrl.stability.window import Window

LAG, EFFECT = "environment.action_lag", "environment.action_effect"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Every look finds a clear effect, and none before the same number of steps."""
    looks = int(limits["looks"])
    lags, effects = window.last(LAG), window.last(EFFECT, looks)
    if len(lags) < looks or not float(np.median(effects)) > limits["effect"]:
        return None
    lag = float(np.median(lags))
    if float(lags.min()) < 1 or float(np.mean(lags == lag)) < limits["agree"]:
        return None
    if lag < limits["always_from"] and learned(window) == "yes":
        return None  # one step may be a velocity that is not shown
    return Sighting(
        f"an action shows {lag:.0f} step{'s' if lag > 1 else ''} later at first, never at once",
        {LAG: lag, EFFECT: float(np.median(effects))},
    )


RULE = Detector(
    id="D047",
    name="actions-come-late",
    severity="warning",
    symptom="What follows depends on an action of some steps ago and not on the present one.",
    why="An observation that does not hold the actions under way is no state: credit goes to the "
    "wrong action.",
    false_alarms="Worlds whose delay is part of the task, or that do not show velocities.",
    reads=(LAG, EFFECT),
    limits={"looks": 3, "effect": 0.1, "agree": 0.8, "always_from": 2.0},
    calibrated_on="2,000 random steps of CartPole, Pendulum, Acrobot and both MountainCars each: "
    "0 in all of them; a point that is pushed with a delay of one, two and four steps: that delay",
    detect=detect,
    traits=("acts",),
)
