"""D025: the critic promises more than the policy delivers."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Q at the start of evaluation episodes above the discounted return, in target spreads."""
    count = int(limits["evaluations"])
    gaps = window.last("q.optimism", count)
    if len(gaps) < count or not window.fresh("q.optimism"):
        return None
    if not window.progress >= limits["progress"]:
        return None
    if float(gaps.min()) < limits["gap"]:
        return None
    # A gap that closes is a critic still growing to its true values, not one that is exploited.
    if gaps[-1] < limits["remaining"] * gaps.max():
        return None
    gap = median(gaps)
    return Sighting(
        f"the critic promises more than episodes return, by {gap:.1f} times the spread of its "
        "targets",
        {"q.optimism": gap},
    )


RULE = Detector(
    id="D025",
    name="overestimation",
    severity="warning",
    symptom="Q of the policy's actions exceeds the discounted return they really earn.",
    why="The actor seeks out the critic's errors; without a second critic they add up.",
    false_alarms="Early on, before values have grown to their true (negative) level.",
    reads=("q.optimism",),
    limits={"evaluations": 5, "gap": 2.0, "remaining": 0.8, "progress": 0.6},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: fires on 9 of 62, mostly slow "
    "learners and residual control",
    detect=detect,
    bands=at_most("gap", "q.optimism"),
    traits=("off_policy", "climbs_values"),
    references=("Fujimoto et al. 2018",),
)
