"""D012: the target network does not follow."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The target moves a tiny share of what the online critic moves, over several Steps."""
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
    return Sighting(
        f"the target network moves {share:.1e} as far as the critic; they are {drift:.2g} apart",
        {
            "target.change": float(moves[-1]),
            "critic.update_ratio": float(online[-1]),
            "target.drift": drift,
        },
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
    limits={"steps": 5, "share": 0.02},
    calibrated_on="healthy bench runs, 10 variants x 2 seeds: share at least 0.64 (pendulum), "
    "0.42 (point-mass); fires on tau 0, 1e-6, 1e-5",
    detect=detect,
    traits=("off_policy", "climbs_values"),
)
