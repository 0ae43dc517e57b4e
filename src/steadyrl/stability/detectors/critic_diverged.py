"""D005: Q-values beyond what the rewards allow."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The ratio of |Q| to its bound above its limit in several Steps running."""
    if not window.latest("q.bound_ratio") > limits["ratio"]:
        return None
    ratios = window.last("q.bound_ratio", int(limits["steps"]))
    if len(ratios) < limits["steps"] or not (ratios > limits["ratio"]).all():
        return None
    latest = float(ratios[-1])
    return Sighting(
        f"|Q| is {latest:.3g} times the largest value the rewards allow",
        {"q.bound_ratio": latest, "q.abs_max": window.latest("q.abs_max")},
    )


RULE = Detector(
    id="D005",
    name="critic-diverged",
    severity="severe",
    symptom="|Q| exceeds max|r| / (1 - gamma), and 10: so much a fresh network may say.",
    why="No policy can earn that much: the critic feeds on its own errors. Reward scale cancels "
    "out of this ratio, so a large loss from large rewards does not trigger it.",
    false_alarms="Rewards that grow during training (the bound follows the largest seen so far).",
    reads=("q.bound_ratio",),
    limits={"steps": 3, "ratio": 1.2},
    calibrated_on="an upper bound with 20 % room for approximation; healthy bench runs: at most "
    "0.16 (pendulum), 0.38 (point-mass)",
    detect=detect,
    bands=at_most("ratio", "q.bound_ratio"),
    traits=("off_policy",),
    references=("Fujimoto et al. 2018", "ray#5638"),
)
