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
    share = float(np.mean(values))
    if not share > limits["share"]:
        return None
    return Sighting(
        f"for {share:.0%} of the prompts all completions earn the same, so they teach nothing",
        {name: share, "rollout.return_mean": window.latest("rollout.return_mean")},
        severity="severe" if share > limits["severe_share"] else "warning",
    )


RULE = Detector(
    id="D140",
    name="equal-rewards",
    severity="severe",
    symptom="Within most groups every completion earns the same reward.",
    why="Advantages are differences within a group: where there is none, the gradient is zero and "
    "generation was wasted. If all groups are so, nothing is trained at all.",
    false_alarms="The end of a run that has solved its prompts: then the reward is at its maximum.",
    reads=("language.equal_groups_share",),
    limits={"steps": 5, "share": 0.7, "severe_share": 0.95},
    calibrated_on="tiny GRPO runs (TRL 1.16, 0.1M parameters): a graded reward at most 0.2, a "
    "constant one 1.0. Not calibrated on large models",
    detect=detect,
    algorithms=("grpo",),
    references=("trl#3452", "DAPO, dynamic sampling"),
)
