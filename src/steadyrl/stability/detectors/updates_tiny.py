"""D003: the weights move, but so little that nothing can be learned in the budget."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

CERTAINLY_LEARNING = 0.01  # change of the weights within one Step


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The networks change by less than the limit per update, over several Steps."""
    parts = [part for part in ("critic", "actor") if window.has(f"{part}.update_ratio")]
    # The newest values first: they settle most cases without looking at the past.
    if max(window.latest(f"{part}.update_ratio") for part in parts) > CERTAINLY_LEARNING:
        return None
    steps = int(limits["steps"])
    updates = window.last("train.updates", steps + 1)
    if len(updates) <= steps or updates[-1] <= updates[0]:
        return None
    per_step = (updates[-1] - updates[0]) / steps
    found = {}
    for part in parts:
        changes = window.last(f"{part}.update_ratio", steps)
        if len(changes) < steps:
            return None
        found[part] = median(changes) / per_step
    if not 0 < max(found.values()) < limits["per_update"]:
        return None
    return Sighting(
        f"the weights change by {max(found.values()):.1e} of their size per update",
        {f"{part}.update_ratio": value for part, value in found.items()},
    )


RULE = Detector(
    id="D003",
    name="updates-tiny",
    severity="warning",
    symptom="Relative weight change per update is far below what learning needs.",
    why="At this pace the networks stay near their initial weights for the whole budget.",
    false_alarms="Fine-tuning with a deliberately small learning rate.",
    reads=("critic.update_ratio", "train.updates"),
    limits={"steps": 5, "per_update": 1e-5},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at least 6e-5 per update "
    "(learning_rate 1e-4); fires on 1e-6 and 1e-7",
    detect=detect,
    traits=("off_policy",),
)
