"""D111: accepted steps use a sliver of the trust region."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median share of max_kl that accepted steps use, below the limit."""
    steps = int(limits["steps"])
    values = window.last("trpo.kl_share", steps)
    known = values[~np.isnan(values)]
    if len(known) < steps or not median(known) < limits["share"]:
        return None
    return Sighting(
        f"accepted steps use {median(known):.1%} of max_kl",
        {"trpo.kl_share": median(known)},
    )


RULE = Detector(
    id="D111",
    name="trust-region-unused",
    severity="warning",
    symptom="Steps are accepted but stay far inside the trust region.",
    why="With heavy damping the step is shortened long before the KL limits it: "
    "learning is slow for no reason.",
    false_alarms="None known; the full step is scaled to the region, so a small share means "
    "damping or backtracking.",
    reads=("trpo.kl_share",),
    limits={"share": 0.1, "steps": 10},
    calibrated_on="healthy TRPO runs (CartPole, Pendulum, seed 0): medians of 0.67 and 0.77. "
    "In the fault bench medium and high dampings end at 0.03 and less, low ones at 0.09 to "
    "0.41",
    detect=detect,
    traits=("on_policy", "trust_region"),
)
