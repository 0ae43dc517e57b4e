"""D106: the values explain nothing of the returns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median explained variance of the last updates not above the limit."""
    steps = int(limits["steps"])
    if window.count("value.explained_variance") < limits["warm_up"]:
        return None
    values = window.last("value.explained_variance", steps)
    if not float(np.median(values)) <= limits["share"]:
        return None
    share = float(np.median(values))
    return Sighting(
        f"the values explain {share:.2f} of the returns' variance",
        {"value.explained_variance": share},
    )


RULE = Detector(
    id="D106",
    name="values-unexplained",
    severity="warning",
    symptom="The value function explains no variance of the returns, long after the start.",
    why="Advantages are then mostly noise, and the policy follows it.",
    false_alarms="Returns that hardly vary (a solved task with constant episodes) cannot be "
    "explained.",
    reads=("value.explained_variance",),
    limits={"share": 0.0, "steps": 10, "warm_up": 20},
    calibrated_on="healthy PPO and TRPO runs (seed 0): medians of 0.42 and more. "
    "A learning rate of 1e-6 stays at 0.0003: nearly, not quite, at the limit",
    detect=detect,
    algorithms=("ppo", "trpo"),
)
