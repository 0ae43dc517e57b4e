"""D140: completions of a prompt all earn the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Share of groups without spread above the limit in the last Steps."""
    name, steps = "language.equal_groups_share", int(limits["steps"])
    values = window.last(name, steps)
    if len(values) < steps:
        return None
    share, reward = float(np.mean(values)), "rollout.return_mean"
    if not share > limits["share"]:
        return None
    if window.first(reward) < window.latest(reward) >= window.highest(reward):
        return None  # all are equal because all are as good as any has been: solved
    return Sighting(
        f"for {share:.0%} of the prompts all completions earn the same, so they teach nothing",
        {name: share, reward: window.latest(reward)},
        severity="severe" if share > limits["severe_share"] else "warning",
    )


RULE = Detector(
    id="D140",
    name="equal-rewards",
    severity="severe",
    symptom="Within most groups every completion earns the same reward.",
    why="Advantages are differences within a group: where there is none, the gradient is zero and "
    "generation was wasted. If all groups are so, nothing is trained at all.",
    false_alarms="The end of a run that has solved its prompts is not reported: there the reward "
    "is higher than it was and as high as it has been.",
    reads=("language.equal_groups_share",),
    limits={"steps": 5, "share": 0.7, "severe_share": 0.95},
    calibrated_on="tiny GRPO runs (TRL 1.16, two layers of 32 units, 80 steps): a graded reward "
    "0.0 (3 runs), a constant one 1.0. Not calibrated on large models",
    detect=detect,
    traits=("language",),
    references=("trl#3452", "DAPO, dynamic sampling"),
)
