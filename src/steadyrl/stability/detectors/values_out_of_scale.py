"""D042: action values are beyond anything that the returns can make of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import TRAINING_RETURN, Floats, Window

RETURNS = (TRAINING_RETURN, "eval.return_mean")


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: mean values many times the largest return, and the horizon's share of it."""
    values = _values(window, limits)
    if not window.ended or len(values) < limits["steps"]:
        return None
    seen = [(window.lowest(name), window.highest(name)) for name in RETURNS if window.has(name)]
    largest = max((abs(value) for pair in seen for value in pair), default=0.0)
    length = window.first("rollout.length_mean")
    # Where time limits are bootstrapped, values reach beyond the end of a short episode.
    beyond = max(1.0, limits["horizon"] / length) if length > 0 else limits["unknown_length"]
    value = median(values)
    if not largest > 0 or not value > limits["times"] * beyond * largest:
        return None
    return Sighting(
        f"the mean action value is {amount(value, 3)} in size; no return was larger than "
        f"{amount(largest)}",
        {"q.mean": value, "largest": largest},
    )


def _values(window: Window, limits: Mapping[str, float]) -> Floats:
    """How large values are; by a soft actor's loss, what its entropy can be of it taken off."""
    steps = int(limits["steps"])
    if window.has("q.mean") or not window.has("setting.entropy_weight"):
        return np.abs(window.last("q.mean", steps))
    bonus = limits["nats"] * window.highest("setting.entropy_weight")
    return np.maximum(np.abs(window.last("actor.loss", steps)) - bonus, 0.0)


RULE = Detector(
    id="D042",
    name="values-out-of-scale",
    severity="severe",
    symptom="Mean action values are many times the largest return ever seen.",
    why="A value is a discounted return. Where it is far beyond all of them, the critic feeds on "
    "its own errors and the actor climbs them.",
    false_alarms="Returns logged in another scale than the rewards that are learned from.",
    reads=(TRAINING_RETURN,),
    any_of=("q.mean", "actor.loss"),
    limits={"steps": 5, "times": 10.0, "horizon": 100.0, "unknown_length": 10.0, "nats": 100.0},
    calibrated_on="a bound with a margin of ten, not a statistic; quiet on half of 54 public logs. "
    "Not calibrated on faulty runs yet",
    detect=detect,
    traits=("off_policy",),
    looks_back=True,
)
