"""D002: updates are counted, but the weights do not move."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

# Far below Adam's epsilon a gradient moves no weight, though it is not zero: a policy that has
# committed itself to one action for good has one of 1e-13.
NEGLIGIBLE = 1e-9
PARTS = ("critic", "actor", "policy", "value")


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Exactly no change over several Steps in which updates were made."""
    if all(window.latest(f"{part}.update_ratio", 1.0) for part in PARTS):
        return None
    steps = int(limits["steps"])
    updates = window.last("train.updates", steps + 1)
    if len(updates) <= steps or updates[-1] <= updates[0]:
        return None
    for part in PARTS:
        if part == "policy" and not window.latest("trpo.line_search_success", 1.0):
            continue  # a failed search leaves the policy where it is, and says so itself
        changes = window.last(f"{part}.update_ratio", steps)
        if len(changes) == steps and not changes.any():
            norm = window.latest(f"{part}.gradient_norm")
            if norm <= NEGLIGIBLE and window.latest("language.reward_std", 1.0) == 0:
                continue  # completions that all earn the same teach nothing: D140 and D150 say so
            reason = "its gradient is zero" if norm == 0 else "although it has a gradient"
            if 0 < norm <= NEGLIGIBLE:
                reason = f"its gradient is as good as zero ({norm:.1e})"
            return Sighting(
                f"the {part}'s weights have not changed for {steps} Steps, {reason}",
                {f"{part}.update_ratio": 0.0, f"{part}.gradient_norm": norm},
            )
    return None


RULE = Detector(
    id="D002",
    name="weights-frozen",
    severity="severe",
    symptom="A network's weights stay exactly the same while updates are counted.",
    why="Its optimiser holds other parameters, its graph is cut, or its learning rate is zero.",
    false_alarms="A network frozen on purpose.",
    reads=("train.updates",),
    any_of=tuple(f"{part}.update_ratio" for part in PARTS),
    limits={"steps": 3},
    calibrated_on="an invariant: Adam moves every weight that has a gradient",
    detect=detect,
)
