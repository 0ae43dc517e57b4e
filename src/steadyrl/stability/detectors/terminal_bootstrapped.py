"""D018: the future of a terminal state is not zero."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """On terminated transitions the target must equal the reward exactly."""
    if not window.latest("td.terminal_error") > limits["error"]:
        return None
    errors = window.last("td.terminal_error", int(limits["steps"]))
    if len(errors) < limits["steps"] or float(errors.min()) <= limits["error"]:
        return None
    error = median(errors)
    return Sighting(
        f"targets of terminal transitions differ from their reward by {error:.3g}",
        {"td.terminal_error": error},
    )


RULE = Detector(
    id="D018",
    name="terminal-bootstrapped",
    severity="severe",
    symptom="TD targets of terminal transitions contain a next state's value.",
    why="The done mask is missing or wrong: a violated invariant is a bug, never a setting.",
    false_alarms="None.",
    reads=("td.terminal_error",),
    limits={"steps": 2, "error": 1e-6},
    calibrated_on="an invariant",
    detect=detect,
    bands=at_most("error", "td.terminal_error"),
    traits=("acts",),
)
