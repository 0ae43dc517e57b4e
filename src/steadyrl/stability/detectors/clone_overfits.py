"""D122: the trajectories kept back get worse while the others get better."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Validation error above its best by the limit, with a training error that still falls."""
    values = window.last("bc.validation_mse")
    if len(values) < limits["steps"]:
        return None
    best, now = window.lowest("bc.validation_mse"), median(values[-5:])
    training = window.last("bc.full_mse")
    falling = median(training[-5:]) < median(training[:5])
    if not (now > limits["ratio"] * best and falling):
        return None
    return Sighting(
        f"the squared error on trajectories kept back is {now:.3g}; it was {best:.3g} at its best",
        {"bc.validation_mse": now, "best": best},
    )


RULE = Detector(
    id="D122",
    name="clone-overfits",
    severity="warning",
    symptom="The error on trajectories kept back rises while the training error falls.",
    why="The policy learns these recordings by heart, tremor and all.",
    false_alarms="Very few trajectories kept back.",
    reads=("bc.validation_mse", "bc.full_mse"),
    limits={"steps": 20, "ratio": 1.5},
    calibrated_on="set by reasoning; quiet on the scripted expert with 5 trajectories (seed 0)",
    detect=detect,
    traits=("cloning",),
)
