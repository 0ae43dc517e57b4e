"""D019: a time limit is stored as the end of the world."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Truncated transitions in the buffer that are marked as terminated."""
    share = window.latest("replay.truncated_as_terminated", 0.0)
    if not share > limits["share"]:
        return None
    return Sighting(
        f"{share:.0%} of the truncated transitions are stored as terminated",
        {"replay.truncated_as_terminated": share},
    )


RULE = Detector(
    id="D019",
    name="truncation-cut",
    severity="severe",
    symptom="Transitions at a time limit are stored as terminal.",
    why="States before the limit look worthless although nothing ends there; values depend on a "
    "clock the agent cannot see.",
    false_alarms="Tasks in which the time limit really is part of the task and is observed.",
    reads=("replay.truncated_as_terminated",),
    limits={"share": 0.0},
    calibrated_on="an invariant",
    detect=detect,
    algorithms=("ddpg",),
    references=("Pardo et al. 2018", "cleanrl#198"),
)
