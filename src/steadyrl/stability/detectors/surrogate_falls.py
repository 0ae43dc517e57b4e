"""D108: updates make worse what they are made to improve."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Clearly negative improvements in most of the last updates, or in a few in a row.

    A few must be enough: ascent in the wrong direction soon has nothing left to lose.
    """
    steps, row = int(limits["steps"]), int(limits["row"])
    values = window.last("policy.improvement", steps)
    lately = values[-row:]
    in_a_row = len(lately) == row and bool((lately < -limits["clearly"]).all())
    mostly = len(values) == steps and (values < -limits["least"]).mean() >= limits["share"]
    if not (in_a_row or mostly):
        return None
    return Sighting(
        f"updates change their own objective by {median(values):.3g}",
        {"policy.improvement": median(values)},
    )


RULE = Detector(
    id="D108",
    name="surrogate-falls",
    severity="severe",
    symptom="After an update the surrogate objective is lower on the very samples it was "
    "made from.",
    why="Whatever the data, ascent improves its own objective. If it falls, a sign is "
    "wrong or steps overshoot.",
    false_alarms="Steps so small that rounding decides; they must be clearly negative.",
    reads=("policy.improvement",),
    limits={"share": 0.8, "steps": 8, "least": 0.0001, "row": 3, "clearly": 0.002},
    calibrated_on="healthy bench runs (seed 2000): every update gains, 0.0008 at least. A flipped "
    "sign: -0.1, -0.02, -0.007 on CartPole, then nothing; below -0.06 throughout on the point mass",
    detect=detect,
    traits=("on_policy", "clipped"),
)
