"""D101: before the first step every probability ratio is one."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Largest |ln ratio| before the first gradient step, in several updates in a row."""
    errors = window.last("policy.first_ratio_error", int(limits["steps"]))
    if len(errors) < limits["steps"] or not float(errors.min()) > limits["error"]:
        return None
    worst = float(errors.max())
    return Sighting(
        f"before any gradient step |ln ratio| is {worst:.3g} where it must be 0",
        {"policy.first_ratio_error": worst},
    )


RULE = Detector(
    id="D101",
    name="ratio-not-one",
    severity="severe",
    symptom="Before the first gradient step the policy already differs from the one that acted.",
    why="The ratio of the same policy with itself is 1, exactly. If it is not, log- "
    "probabilities are computed differently when acting and when learning: a "
    "missing tanh correction, clipped actions stored, dropout, a normaliser that "
    "moved in between. Every update starts from a wrong place.",
    false_alarms="Low precision: bf16 differs by about 1e-2. Replayed or asynchronous data.",
    reads=("policy.first_ratio_error",),
    limits={"error": 0.001, "steps": 2},
    calibrated_on="an invariant: float32 rounding gave at most 1e-5 on the healthy runs",
    detect=detect,
    traits=("on_policy",),
)
