"""D012: the target network does not follow."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The target moves a tiny share of what the online critic moves, over several Steps."""
    if not window.has("actor.update_ratio"):
        return _never_copied(window, limits)
    newest = window.latest("critic.update_ratio")
    if not window.latest("target.change") <= limits["share"] * newest:
        return None
    steps = int(limits["steps"])
    moves, online = window.last("target.change", steps), window.last("critic.update_ratio", steps)
    if len(moves) < steps or len(online) < steps or not (online > 0).all():
        return None
    share = median(moves / online)
    if share > limits["share"]:
        return None
    drift = window.latest("target.drift")
    moving = (
        f"moves {share:.1e} as far as the critic" if share else "stands still, the critic moves"
    )
    return Sighting(
        f"the target network {moving}; they are {drift:.2g} apart",
        {
            "target.change": float(moves[-1]),
            "critic.update_ratio": float(online[-1]),
            "target.drift": drift,
        },
    )


def _never_copied(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Of a learner without an actor, which copies its target now and then: it never did."""
    steps = int(limits["copies"])
    late = window.ended or window.progress >= limits["progress"]
    if not late or window.count("target.change") < steps:
        return None
    moved, online = window.highest("target.change"), median(window.last("critic.update_ratio"))
    if not online > 0 or moved > limits["share"] * online:
        return None
    drift = window.latest("target.drift")
    return Sighting(
        f"{window.so_far} the target network was never copied; it is {drift:.2g} away from the "
        "critic",
        {"target.change": moved, "critic.update_ratio": online, "target.drift": drift},
    )


RULE = Detector(
    id="D012",
    name="target-frozen",
    severity="severe",
    symptom="The target critic stays (almost) where it began while the online critic moves.",
    why="Targets then hold the values of an untrained network: the critic learns one step ahead "
    "at most and the actor optimises noise.",
    false_alarms="Hard target copies at long intervals; then the change comes in jumps.",
    reads=("target.change", "critic.update_ratio"),
    limits={"steps": 5, "share": 0.02, "copies": 20, "progress": 0.5},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: share at least 0.64 (pendulum), "
    "0.42 (point-mass); fires on tau 0, 1e-6, 1e-5. Targets "
    "that are copied (DQN): an invariant, not one copy in half of the run",
    detect=detect,
    traits=("off_policy",),
)
