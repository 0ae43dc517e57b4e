"""D021: the actor moves against its critic."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """In nearly all recent Steps the new policy's actions were worse by the critic's own word.

    And by more than it ever rose in one: a policy that has learned goes up and down by next to
    nothing, and by chance down ten times.
    """
    if not window.latest("actor.improvement") < 0:
        return None
    steps = int(limits["steps"])
    gains = window.last("actor.improvement", steps)
    if len(gains) < steps or float((gains < 0).mean()) < limits["share"]:
        return None
    if -float(gains.sum()) <= window.highest("actor.improvement"):
        return None
    gain = median(gains)
    return Sighting(
        f"the policy's Q-value fell in {(gains < 0).sum()} of {steps} Steps, judged by one critic",
        {"actor.improvement": gain},
    )


RULE = Detector(
    id="D021",
    name="actor-descends",
    severity="severe",
    symptom="On the same states and by the same critic, the newer policy is worse, Step after "
    "Step.",
    why="The actor's loss has the wrong sign, or its gradient does not reach it.",
    false_alarms="A critic that changes its mind faster than the actor follows (few Steps only); a "
    "run that begins with what another had learned, and so never rose.",
    reads=("actor.improvement",),
    limits={"steps": 10, "share": 0.9},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: at most 0.5 (pendulum), 0.8 (point-"
    "mass) of ten Steps. The largest rise: 124 healthy runs (seeds 8000, 8001, 9000, 9001), of "
    "which one fell in 9 of 10, by 0.03 after a rise of 0.16; with the sign flipped (seed 1500) by "
    "1.5 after one of at most 0.11, and by 0.08 after none",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
