"""D011: a good part of the budget is spent and nothing has been learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.statistics import trend
from steadyrl.stability.window import Window, called, evaluation_noise, objective


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """No evaluation above the first ones by more than their noise, and no upward trend."""
    name = objective(window)
    if not window.fresh(name) or not window.progress >= limits["progress"]:
        return None
    returns = window.last(name)
    if len(returns) < limits["evaluations"]:
        return None
    start = float(np.median(returns[:2]))
    noise = evaluation_noise(window) + 1e-9 * abs(start)
    recent = float(np.median(returns[-3:]))
    if recent - start > limits["gain_over_noise"] * noise:
        return None
    upward = trend(returns[-20:])
    if upward.slope > 0 and upward.p_value < limits["p_value"]:
        return None
    return Sighting(
        f"after {window.progress:.0%} of the budget the {called(name)} is {recent:,.4g}; it "
        f"began at {start:,.4g}",
        {"start": start, name: recent, "noise": noise, "p_value": upward.p_value},
    )


RULE = Detector(
    id="D011",
    name="no-progress",
    severity="warning",
    symptom="Evaluations are no better than at the beginning.",
    why="Something keeps the policy from improving. Other findings say what.",
    false_alarms="Sparse rewards, slow learners, or a policy that was good from the start.",
    reads=("eval.return_mean", "eval.return_std"),
    limits={"progress": 0.6, "evaluations": 6, "gain_over_noise": 1.0, "p_value": 0.05},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: fires on 4 of 62, slow learners; a "
    "lower share of the budget fired on 12",
    detect=detect,
)
