"""D121: the standard deviation shrinks without end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_least
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Smallest log deviation below the limit, while the squared error has long stopped falling."""
    if not window.latest("bc.log_std_min") < limits["log_std"]:
        return None
    steps = int(limits["steps"])
    lows = window.last("bc.log_std_min", steps)
    if len(lows) < steps or not median(lows) < limits["log_std"]:
        return None
    low = median(lows)
    if window.highest("bc.log_std_min") - low < limits["fall"]:
        return None  # it was set so, not learned
    return Sighting(
        f"the smallest standard deviation is {float(np.exp(low)):.1e} (log {low:.2f})",
        {"bc.log_std_min": low, "bc.full_nll": window.latest("bc.full_nll")},
    )


RULE = Detector(
    id="D121",
    name="deviation-collapsed",
    severity="warning",
    symptom="The policy claims to know some actions to a hundredth of their range or better.",
    why="The likelihood rewards certainty without end, and its curvature grows as 1 / sigma^2: the "
    "same step that was safe becomes a leap.",
    false_alarms="Actions that really are exact, like a gripper of +1 and -1.",
    reads=("bc.log_std_min",),
    limits={"steps": 5, "log_std": -4.6, "fall": 0.5},
    calibrated_on="scripted expert, 418 transitions, seed 0: -5.5 to -6.7 where the loss leaps; "
    "-3.0 with std_floor 0.05",
    detect=detect,
    bands=at_least("log_std", "bc.log_std_min"),
    traits=("cloning",),
)
