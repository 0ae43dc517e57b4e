"""D019: a time limit is stored as the end of the world."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Truncated transitions marked as terminated in the buffer, or learned as ends."""
    for name in ("replay.truncated_as_terminated", "rollout.truncated_as_terminated"):
        share = window.latest(name, 0.0)
        if share > limits["share"]:
            stored = (
                "transitions are stored as terminated"
                if name.startswith("replay")
                else ("states' worth is missing from the returns")
            )
            return Sighting(f"{share:.0%} of the truncated {stored}", {name: share})
    return None


RULE = Detector(
    id="D019",
    name="truncation-cut",
    severity="severe",
    symptom="Transitions at a time limit are stored or learned as terminal.",
    why="States before the limit look worthless although nothing ends there; values depend on a "
    "clock the agent cannot see.",
    false_alarms="Tasks in which the time limit really is part of the task and is observed.",
    reads=(),
    any_of=("replay.truncated_as_terminated", "rollout.truncated_as_terminated"),
    limits={"share": 0.0},
    calibrated_on="an invariant",
    detect=detect,
    traits=("acts",),
    references=("Pardo et al. 2018", "cleanrl#198"),
)
