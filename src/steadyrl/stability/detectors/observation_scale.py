"""D016: one part of the observation is far larger than another."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Largest over smallest standard deviation of the network's inputs."""
    if not window.latest("observation.scale_ratio") >= limits["ratio"]:
        return None
    ratios = window.last("observation.scale_ratio", int(limits["steps"]))
    if len(ratios) < limits["steps"] or median(ratios) < limits["ratio"]:
        return None
    ratio = median(ratios)
    return Sighting(
        f"the widest observation component spreads {ratio:.0f} times as far as the narrowest",
        {"observation.scale_ratio": ratio},
    )


RULE = Detector(
    id="D016",
    name="observation-scale",
    severity="warning",
    symptom="Components of the observation differ by orders of magnitude in scale.",
    why="The large one decides every hidden unit; the network is almost blind to the others.",
    false_alarms="A component that hardly varies because it does not matter.",
    reads=("observation.scale_ratio",),
    limits={"steps": 5, "ratio": 100.0},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 7.4 (pendulum), 6.3 (point-"
    "mass); fires on one component x 300",
    detect=detect,
    bands=at_most("ratio", "observation.scale_ratio"),
    traits=("acts",),
)
