"""D163: uneven draws without a correction."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

SPREAD, WEIGHT = "aged.priority_spread", "aged.weight_min"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Priorities that differ, and weights that do not, in several Steps."""
    steps = int(limits["steps"])
    spreads, weights = window.last(SPREAD, steps), window.last(WEIGHT, steps)
    if min(len(spreads), len(weights)) < steps:
        return None
    if not (spreads.max() < limits["spread"] and weights.min() > limits["weight"]):
        return None
    spread, weight = float(spreads[-1]), float(weights[-1])
    return Sighting(
        f"items are drawn unevenly (spread {spread:.2g}), and all count alike ({weight:.4g})",
        {SPREAD: spread, WEIGHT: weight},
    )


RULE = Detector(
    id="D163",
    name="draws-uncorrected",
    severity="warning",
    symptom="Items are drawn unevenly, and nothing corrects for it.",
    why="What is drawn more often then counts more: the policy is trained for a distribution of "
    "situations that it never meets (beta 0, or weights that are not applied).",
    false_alarms="None is known.",
    reads=(SPREAD, WEIGHT),
    limits={"spread": 0.98, "weight": 0.999, "steps": 3},
    calibrated_on="seven healthy runs at seed 3 (the replay presets on CartPole, prioritised by "
    "TD errors too, efficient on Acrobot, standard that never goes stale), and three with reuse "
    "50, beta 0 and ten times the rate: weights of 0.59 and less where beta is 0.4, of 1 where it "
    "is 0",
    detect=detect,
    traits=("clipped",),
)
