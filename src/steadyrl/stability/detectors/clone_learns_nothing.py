"""D123: the clone is no better than the mean action."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Normalised squared error near 1 after a good part of the budget."""
    steps = int(limits["steps"])
    values = window.last("bc.normalised_mse", steps)
    if window.progress < limits["progress"] or len(values) < steps:
        return None
    share = median(values)
    if not share > limits["share"]:
        return None
    return Sighting(
        f"after {window.progress:.0%} of the budget the squared error is {share:.0%} of the "
        "actions' variance",
        {"bc.normalised_mse": share},
    )


RULE = Detector(
    id="D123",
    name="clone-learns-nothing",
    severity="warning",
    symptom="Actions are predicted hardly better than by their mean.",
    why="The steps are too small or too wild, or observations do not tell what actions depend on.",
    false_alarms="Demonstrations that are mostly noise.",
    reads=("bc.normalised_mse",),
    limits={"steps": 5, "progress": 0.3, "share": 0.5},
    calibrated_on="scripted expert, 418 transitions, seed 0: 0.04 at most when healthy",
    detect=detect,
    traits=("cloning",),
)
