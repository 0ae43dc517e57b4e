"""D008: the policy sits at its bounds and is none the better for it."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Saturated over several Steps while the evaluation is far from the best seen."""
    if not window.latest("action.saturation") >= limits["share"]:
        return None
    steps = int(limits["steps"])
    shares = window.last("action.saturation", steps)
    if len(shares) < steps or median(shares) < limits["share"]:
        return None
    best, worst = window.highest("eval.return_mean"), window.lowest("eval.return_mean")
    latest = window.latest("eval.return_mean")
    at_best = best > worst and latest >= worst + limits["of_range"] * (best - worst)
    if at_best:
        return None
    share = median(shares)
    return Sighting(
        f"{share:.0%} of the policy's actions lie at a bound",
        {"action.saturation": share, "eval.return_mean": latest},
    )


RULE = Detector(
    id="D008",
    name="actions-saturated",
    severity="warning",
    symptom="Nearly all actions are at their bounds, and the return is not near its best.",
    why="tanh has no slope there: the actor's gradient vanishes and it can hardly come back.",
    false_alarms="Tasks whose best policy is bang-bang; there the return is near its best.",
    reads=("action.saturation",),
    limits={"steps": 15, "share": 0.9, "of_range": 0.5},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: pendulum up to 0.8, point-mass up "
    "to 1.0 (two slow learners warn)",
    detect=detect,
    bands=at_most("share", "action.saturation"),
    traits=("off_policy", "climbs_values"),
    references=("Stable-Baselines3#1749",),
)
