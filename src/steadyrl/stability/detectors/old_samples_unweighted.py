"""D164: the policy ratio of old samples is left out."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

ERROR = "aged.ratio_error"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """An invariant: weights are the bounded ratios."""
    error = window.latest(ERROR)
    if not error > limits["error"]:
        return None
    return Sighting(f"weights of old samples are off by up to {error:.2g}", {ERROR: error})


RULE = Detector(
    id="D164",
    name="old-samples-unweighted",
    severity="severe",
    symptom="Old samples do not count by what the policy would do now.",
    why="Their weight must be the bounded ratio of the probability now to the probability then. "
    "Without it old decisions are praised and blamed as if they were taken today.",
    false_alarms="None: it is an invariant; rounding stays below 1e-5.",
    reads=(ERROR,),
    limits={"error": 1e-3},
    calibrated_on="an invariant; by tests, not by runs",
    detect=detect,
    traits=("clipped",),
)
