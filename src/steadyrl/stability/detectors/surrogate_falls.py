"""D108: updates make worse what they are made to improve."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Clearly negative improvements in most of the last updates."""
    steps = int(limits["steps"])
    values = window.last("policy.improvement", steps)
    if len(values) < steps or not float((values < -limits["least"]).mean()) >= limits["share"]:
        return None
    return Sighting(
        f"updates change their own objective by {float(np.median(values)):.3g}",
        {"policy.improvement": float(np.median(values))},
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
    limits={"share": 0.8, "steps": 8, "least": 0.0001},
    calibrated_on="healthy PPO runs (seed 0): every update gains, 0.0008 at least. "
    "Set by reasoning, not seen on a faulty run yet",
    detect=detect,
    algorithms=("ppo",),
)
