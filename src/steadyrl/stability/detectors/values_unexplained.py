"""D106: the values explain nothing of the returns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.bands import Band
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median explained variance of the last updates not above the limit, and never was.

    A critic that hardly moves is not given the benefit of the doubt: it will not get there.
    """
    if window.ended:
        return _at_the_end(window, limits)
    steps = int(limits["steps"])
    if window.count("value.explained_variance") < limits["warm_up"]:
        return None
    share = median(window.last("value.explained_variance", steps))
    if not share <= bands(window, limits)["value.explained_variance"].low:
        return None
    if window.highest("value.explained_variance") > limits["ever"]:
        return None
    return Sighting(
        f"the values explain {share:.2f} of the returns' variance",
        {"value.explained_variance": share},
    )


def bands(window: Window, limits: Mapping[str, float]) -> Mapping[str, Band]:
    """Above a share of the variance, a larger one while the critic hardly moves."""
    moved = window.last("value.update_ratio", int(limits["steps"]))
    still = len(moved) > 0 and median(moved) < limits["still"]
    low = limits["share_if_still" if still else "share"]
    return {"value.explained_variance": Band(low=low)}


def _at_the_end(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Of a finished record: hardly anything was ever explained."""
    values = window.last("value.explained_variance")
    if len(values) < limits["recorded"] or learned(window) == "yes":
        return None  # a policy may learn in spite of it
    best = float(np.quantile(values[len(values) // 2 :], 0.9))
    if not best < limits["never"]:
        return None
    return Sighting(
        f"in the second half of the record the values explain {best:.2f} of the returns' variance "
        "at best",
        {"value.explained_variance": best},
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
    limits={
        "share": -0.05,
        "share_if_still": 0.1,
        "still": 0.005,
        "ever": 0.3,
        "steps": 10,
        "warm_up": 15,
        "recorded": 30,
        "never": 0.08,
    },
    calibrated_on="healthy bench runs (seed 2000, 64 runs): a gentle learner at -0.01 whose critic "
    "moves by 0.03 per update; critics that moved less than 0.005 had explained 0.2 before. "
    "Starved critics: -0.1 to 0.08, moving by 0.004 at most. Finished records: "
    "half of 54 public logs (docs/public-runs.md)",
    detect=detect,
    bands=bands,
    traits=("acts", "on_policy"),
    looks_back=True,
)
