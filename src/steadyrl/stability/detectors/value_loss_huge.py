"""D043: the value loss is huge and its values explain little."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: a loss in the hundred thousands, and less than half of the variance explained."""
    if not window.ended or window.count("value.loss") < limits["steps"]:
        return None
    late = max(int(limits["steps"]), window.count("value.loss") // 4)
    loss = median(window.last("value.loss", late))
    shares = window.last("value.explained_variance", late)
    share = median(shares) if len(shares) else 0.0
    highest = median(np.sort(window.last("value.loss"))[-late:])
    if not max(loss, highest) > limits["loss"] or not share < limits["share"]:
        return None
    return Sighting(
        f"the value loss is {amount(max(loss, highest), 2)} and the values explain {share:.2f} of "
        "the returns' variance",
        {"value.loss": max(loss, highest), "value.explained_variance": share},
    )


RULE = Detector(
    id="D043",
    name="value-loss-huge",
    severity="warning",
    symptom="The value loss is in the hundred thousands and the values explain little.",
    why="Its gradient is clipped together with the policy's, which is then hardly heard; and a "
    "network of usual initial size needs very long to reach such values.",
    false_alarms="Value networks and policies of their own optimisers, which do not drown each "
    "other.",
    reads=("value.loss",),
    limits={"loss": 1e5, "share": 0.45, "steps": 20},
    calibrated_on="half of 54 public logs: fires on one of 27, at 1e6 and 0.4, which its reader "
    "called suspicious for that reason (docs/public-runs.md)",
    detect=detect,
    traits=("acts",),
    looks_back=True,
)
