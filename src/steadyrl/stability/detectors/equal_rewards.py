"""D140: completions of a prompt all earn the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rewards import REWARD, is_solved, reward_now
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Share of groups without spread above the limit in the last Steps, and nothing is solved."""
    name, steps = "language.equal_groups_share", int(limits["steps"])
    values = window.last(name, steps)
    if len(values) < steps:
        return None
    share = float(np.mean(values))
    if not share > limits["share"]:
        return None
    if is_solved(window, limits["over_noise"], limits["kept"]):
        return None  # all are equal because nearly all are right
    return Sighting(
        f"for {share:.0%} of the prompts all completions earn the same, so they teach nothing",
        {name: share, REWARD: reward_now(window)},
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
    "has risen beyond chance and kept half of its best gain (medians of five updates).",
    reads=("language.equal_groups_share",),
    limits={"steps": 5, "share": 0.7, "severe_share": 0.95, "over_noise": 2.0, "kept": 0.5},
    calibrated_on="tiny GRPO runs (TRL 1.16, two layers of 32 units, 80 steps): a graded reward "
    "0.0 (3 runs), a constant one 1.0; SmolLM2 on sums, seed 0: 0.5 to 0.97 while it learned, "
    "with 0.67 or more of the best gain kept",
    detect=detect,
    traits=("language",),
    references=("trl#3452", "DAPO, dynamic sampling"),
)
