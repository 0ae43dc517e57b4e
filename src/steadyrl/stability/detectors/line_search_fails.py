"""D109: trust-region steps are rejected."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_least
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

REASONS = ("no_gradient", "negative_curvature", "not_finite", "divergence", "no_improvement")


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Success rate of the last searches below the limit, with the commonest reason."""
    steps = int(limits["steps"])
    values = window.last("trpo.line_search_success", steps)
    if len(values) < steps or not float(values.mean()) < limits["share"]:
        return None
    reasons = {
        reason: float(window.last(f"trpo.failed_{reason}", steps).sum()) for reason in REASONS
    }
    worst = max(reasons, key=lambda reason: reasons[reason])
    return Sighting(
        f"{float(values.mean()):.0%} of the line searches succeed; most fail by "
        f"{worst.replace('_', ' ')}",
        {"trpo.line_search_success": float(values.mean()), **reasons},
    )


RULE = Detector(
    id="D109",
    name="line-search-fails",
    severity="warning",
    symptom="Line searches find no acceptable step.",
    why="No step, no learning: the rollout was for nothing. Success alone is no sign of "
    "health, but failure is a sign of trouble.",
    false_alarms="Close to an optimum, where nothing is left to gain.",
    reads=("trpo.line_search_success",),
    limits={"share": 0.7, "steps": 10},
    calibrated_on="healthy TRPO runs (CartPole, Pendulum, seed 0): all searches succeed; of nine "
    "effective objectives-differ runs of the fault bench at most 60 % do",
    detect=detect,
    bands=at_least("share", "trpo.line_search_success"),
    traits=("on_policy", "trust_region"),
)
