"""D141: completions run into the length limit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rewards import has_risen
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Nearly all are cut, or clearly more than at first while nothing is gained by it."""
    name, steps = "language.cut_share", int(limits["steps"])
    values = window.last(name, steps)
    share = float(np.mean(values)) if len(values) == steps else 0.0
    evidence = {name: share, "language.length_mean": window.latest("language.length_mean")}
    if share > limits["share"]:
        return Sighting(
            f"{share:.0%} of the completions are cut off at the largest length", evidence
        )
    first = window.first(name)
    if not share - first > limits["rise"] or has_risen(window, limits["over_noise"]):
        return None
    return Sighting(
        f"{share:.0%} of the completions are cut off at the largest length ({first:.0%} at first), "
        "and the reward has not risen",
        {**evidence, "first": first},
    )


RULE = Detector(
    id="D141",
    name="completions-cut",
    severity="warning",
    symptom="Most completions never end by themselves, or ever fewer do.",
    why="A cut answer is rewarded for what it had no room to say: the model learns from the limit "
    "instead of the task.",
    false_alarms="Tasks whose answers have a fixed length, with no end of sequence wanted.",
    reads=("language.cut_share",),
    limits={"steps": 5, "share": 0.8, "rise": 0.3, "over_noise": 2.0},
    calibrated_on="tiny GRPO runs that are paid for filling the length (TRL 1.16, 4 runs of 80 "
    "steps): 0.25 to 0.75; a quarter of that length: up to 1.0. On large models a few per cent "
    "are usual",
    detect=detect,
    traits=("language",),
)
