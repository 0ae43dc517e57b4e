"""D161: old samples are about another policy."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

SHARE, OLD, YOUNG = (
    "aged.effective_share",
    "aged.effective_share_old",
    "aged.effective_share_young",
)


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """The effective sample size of what is drawn, low in several Steps."""
    shares = window.last(SHARE, int(limits["steps"]))
    if len(shares) < limits["steps"] or not float(shares.max()) < limits["share"]:
        return None
    share, old, young = (window.latest(name) for name in (SHARE, OLD, YOUNG))
    return Sighting(
        f"of the old samples {share:.0%} count effectively (of the older half {old:.0%}, of the "
        f"younger {young:.0%})",
        {SHARE: share, OLD: old, YOUNG: young},
    )


RULE = Detector(
    id="D161",
    name="old-samples-count-little",
    severity="warning",
    symptom="Few of the old samples count: the policy would hardly do any more what was done then.",
    why="Weights for what the policy would do now then rest on a few lucky samples; the gradient "
    "is noise, and the clip brakes what is left.",
    false_alarms="Actions of many dimensions have small shares by nature.",
    reads=(SHARE,),
    limits={"share": 0.3, "steps": 3},
    calibrated_on="seven healthy runs at seed 3 (the replay presets on CartPole, prioritised by "
    "TD errors too, efficient on Acrobot, standard that never goes stale), and three with reuse "
    "50, beta 0 and ten times the rate: 0.64 and more in healthy runs that learn, 0.23 with reuse "
    "50, 0.04 at ten times the rate",
    detect=detect,
    traits=("clipped",),
)
