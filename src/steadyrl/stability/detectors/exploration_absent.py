"""D014: the actions played are the policy's own."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Played actions differ from the policy's by less than the limit, over several Steps."""
    if not window.latest("action.noise") <= limits["noise"]:
        return None
    noise = window.last("action.noise", int(limits["steps"]))
    if len(noise) < limits["steps"] or float(noise.max()) > limits["noise"]:
        return None
    level = median(noise)
    return Sighting(
        f"played actions differ from the policy's by {level:.2g}", {"action.noise": level}
    )


RULE = Detector(
    id="D014",
    name="exploration-absent",
    severity="warning",
    symptom="Exploration noise is missing or negligible.",
    why="A deterministic policy then sees only what it already does, and Q is never tested "
    "elsewhere.",
    false_alarms="Tasks that are random enough by themselves; late phases of a noise schedule.",
    reads=("action.noise",),
    limits={"steps": 5, "noise": 0.01},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds, noise_std 0.1-0.2: single Steps "
    "down to 0.027, fires on noise_std 0.005 and less",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
