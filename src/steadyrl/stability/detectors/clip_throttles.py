"""D026: clipping decides every step's size."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Nearly all updates are clipped, by a large factor."""
    steps, clip = int(limits["steps"]), window.latest("setting.gradient_clip")
    norms = window.last("critic.gradient_norm", steps)
    if len(norms) < steps or not clip > 0 or float(norms.min()) < limits["factor"] * clip:
        return None
    factor = float(norms.min()) / clip
    return Sighting(
        f"every critic gradient is clipped, to 1/{factor:.0f} of its norm or less",
        {"critic.gradient_norm": float(norms[-1]), "setting.gradient_clip": clip},
    )


RULE = Detector(
    id="D026",
    name="clip-throttles",
    severity="note",
    symptom="The gradient norm is always far above the clip limit.",
    why="The clip has become the step size; with Adam that mostly cancels, with SGD it does not.",
    false_alarms="Adam users who want normalised gradients.",
    reads=("critic.gradient_norm", "setting.gradient_clip"),
    limits={"steps": 10, "factor": 100.0},
    calibrated_on="not calibrated: a starting point, hence only a note",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
