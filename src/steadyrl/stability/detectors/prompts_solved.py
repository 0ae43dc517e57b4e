"""D154: the prompts are solved, and teach nothing more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rewards import REWARD, has_risen, reward_best, reward_now
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

SHARE = "language.equal_groups_share"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Most groups earn the same, at the top of a reward that has risen."""
    steps = int(limits["steps"])
    values = window.last(SHARE, steps)
    if len(values) < steps or not float(np.mean(values)) > limits["share"]:
        return None
    first, now, best = window.first(REWARD), reward_now(window), reward_best(window)
    if not has_risen(window, limits["over_noise"]) or now - first < limits["kept"] * (best - first):
        return None
    share = float(np.mean(values))
    return Sighting(
        f"for {share:.0%} of the prompts all completions earn the same, at a reward of {now:.3g} "
        f"({first:.3g} at first, {best:.3g} at best): they are solved, stop or take harder ones",
        {SHARE: share, REWARD: now},
    )


RULE = Detector(
    id="D154",
    name="prompts-solved",
    severity="note",
    symptom="Within most groups every completion earns the same, and the reward stands at its top.",
    why="What all completions get right teaches nothing: from here on generation is wasted.",
    false_alarms="A reward that stops rising below what could be reached, with answers that are "
    "all alike: entropy tells.",
    reads=(SHARE, REWARD),
    limits={"steps": 5, "share": 0.7, "over_noise": 2.0, "kept": 0.9},
    calibrated_on="the limits of D140, whose quiet half this is",
    detect=detect,
    traits=("language",),
)
