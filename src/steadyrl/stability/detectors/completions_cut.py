"""D141: completions run into the length limit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Share of cut completions above the limit in the last Steps."""
    name, steps = "language.cut_share", int(limits["steps"])
    values = window.last(name, steps)
    if len(values) < steps or not float(values.min()) > limits["share"]:
        return None
    share = float(np.mean(values))
    return Sighting(
        f"{share:.0%} of the completions are cut off at the largest length",
        {name: share, "language.length_mean": window.latest("language.length_mean")},
    )


RULE = Detector(
    id="D141",
    name="completions-cut",
    severity="warning",
    symptom="Most completions never end by themselves.",
    why="A cut answer is rewarded for what it had no room to say: the model learns from the limit "
    "instead of the task.",
    false_alarms="Tasks whose answers have a fixed length, with no end of sequence wanted.",
    reads=("language.cut_share",),
    limits={"steps": 5, "share": 0.5},
    calibrated_on="facts of the field (a few per cent is usual); tiny models that never learned an "
    "end of sequence reach 1.0. Not calibrated on large models",
    detect=detect,
    algorithms=("grpo",),
)
