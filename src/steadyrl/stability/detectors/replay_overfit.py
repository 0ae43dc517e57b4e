"""D023: the critic knows its buffer by heart and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """TD error on the newest transitions many times that on the buffer, over several Steps."""
    if not window.latest("td.fresh_ratio") >= limits["ratio"]:
        return None
    steps = int(limits["steps"])
    ratios = window.last("td.fresh_ratio", steps)
    if len(ratios) < steps or median(ratios) < limits["ratio"]:
        return None
    ratio = median(ratios)
    return Sighting(
        f"the TD error on new transitions is {ratio:.1f} times that on the buffer",
        {"td.fresh_ratio": ratio},
    )


RULE = Detector(
    id="D023",
    name="replay-overfit",
    severity="warning",
    symptom="New transitions surprise the critic far more than old ones.",
    why="Too many updates per environment step, or a buffer that no longer looks like the policy.",
    false_alarms="A policy that has just discovered something.",
    reads=("td.fresh_ratio",),
    limits={"steps": 15, "ratio": 4.0},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 1.9 (pendulum), 1.0 (point-"
    "mass); no faulty run was made for it",
    detect=detect,
    bands=at_most("ratio", "td.fresh_ratio"),
    traits=("off_policy",),
    references=("Nikishin et al. 2022",),
)
