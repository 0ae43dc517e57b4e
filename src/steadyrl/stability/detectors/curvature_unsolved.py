"""D110: conjugate gradients have not converged."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median relative residual of the last solves above the limit."""
    steps = int(limits["steps"])
    values = window.last("trpo.cg_residual", steps)
    if len(values) < steps or not median(values) > limits["residual"]:
        return None
    return Sighting(
        f"|Fx - g| is {median(values):.2f} of |g|",
        {"trpo.cg_residual": median(values)},
    )


RULE = Detector(
    id="D110",
    name="curvature-unsolved",
    severity="note",
    symptom="The natural-gradient direction is far from solving its equation.",
    why="The step is then closer to a plain gradient step of unknown length.",
    false_alarms="Common with few iterations and little damping; learning may go on well all the "
    "same.",
    reads=("trpo.cg_residual",),
    limits={"residual": 0.9, "steps": 5},
    calibrated_on="healthy TRPO runs (CartPole, Pendulum, seed 0): medians of 0.01 and less. "
    "Set by reasoning, not seen on a faulty run yet",
    detect=detect,
    traits=("on_policy", "trust_region"),
)
