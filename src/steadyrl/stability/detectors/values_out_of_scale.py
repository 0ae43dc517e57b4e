"""D042: action values are beyond anything that the returns can make of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import TRAINING_RETURN, Window

RETURNS = (TRAINING_RETURN, "eval.return_mean")


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: mean values many times the largest return, and the horizon's share of it."""
    if not window.ended or window.count("q.mean") < limits["steps"]:
        return None
    values = np.abs(window.last("q.mean", int(limits["steps"])))
    seen = [(window.lowest(name), window.highest(name)) for name in RETURNS if window.has(name)]
    largest = max((abs(value) for pair in seen for value in pair), default=0.0)
    length = window.first("rollout.length_mean")
    # Where time limits are bootstrapped, values reach beyond the end of a short episode.
    beyond = max(1.0, limits["horizon"] / length) if length > 0 else limits["unknown_length"]
    value = median(values)
    if not largest > 0 or not value > limits["times"] * beyond * largest:
        return None
    return Sighting(
        f"the mean action value is {value:,.3g} in size; no return was larger than {largest:,.4g}",
        {"q.mean": value, "largest": largest},
    )


RULE = Detector(
    id="D042",
    name="values-out-of-scale",
    severity="severe",
    symptom="Mean action values are many times the largest return ever seen.",
    why="A value is a discounted return. Where it is far beyond all of them, the critic feeds on "
    "its own errors and the actor climbs them.",
    false_alarms="Returns logged in another scale than the rewards that are learned from.",
    reads=("q.mean", TRAINING_RETURN),
    limits={"steps": 5, "times": 10.0, "horizon": 100.0, "unknown_length": 10.0},
    calibrated_on="a bound with a margin of ten, not a statistic; quiet on half of 54 public logs. "
    "Not calibrated on faulty runs yet",
    detect=detect,
    traits=("off_policy",),
    looks_back=True,
)
