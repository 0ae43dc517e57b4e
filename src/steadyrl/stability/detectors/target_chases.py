"""D013: the target network is the online network."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Distance between target and online critic far below what the critic moves in a Step."""
    newest = window.latest("critic.update_ratio")
    if not window.latest("target.drift") <= limits["lag"] * newest:
        return None
    steps = int(limits["steps"])
    drifts, moves = window.last("target.drift", steps), window.last("critic.update_ratio", steps)
    if len(drifts) < steps or len(moves) < steps or not (moves > 0).all():
        return None
    lag = median(drifts / moves)
    if lag > limits["lag"]:
        return None
    return Sighting(
        f"target and online critic are only {lag:.2g} Steps of movement apart",
        {"target.drift": float(drifts[-1]), "critic.update_ratio": float(moves[-1]), "lag": lag},
    )


RULE = Detector(
    id="D013",
    name="target-chases",
    severity="warning",
    symptom="The target critic follows the online critic almost at once.",
    why="The critic then chases its own newest errors; with a high learning rate that diverges.",
    false_alarms="A small tau is a remedy for instability, not a law; some tasks do without.",
    reads=("target.drift", "critic.update_ratio"),
    limits={"steps": 10, "lag": 0.12},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: lag at least 0.94 (pendulum), 0.85 "
    "(point-mass); fires on tau 0.3, 0.6, 1",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
