"""D102: an update leads far away from the policy that acted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.maths.robust import median
from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Median KL of the last updates above the limit."""
    steps = int(limits["steps"])
    if not window.latest("policy.kl") > limits["kl"]:
        return None
    values = window.last("policy.kl", steps)
    known = values[~np.isnan(values)]
    if len(known) < steps:
        return None
    kl = median(known)
    if not kl > limits["kl"]:
        return None
    return Sighting(
        f"the policy moves by {kl:.3g} nats per update",
        {"policy.kl": kl, "policy.kl_first_epoch": window.latest("policy.kl_first_epoch")},
        severity="severe" if kl > limits["severe_kl"] else "warning",
    )


RULE = Detector(
    id="D102",
    name="policy-jumps",
    severity="warning",
    symptom="The KL divergence of an update is far above what its data can support.",
    why="The advantages were measured under the old policy. Far from it they are "
    "guesses, and a policy that jumps by guesses is soon lost.",
    false_alarms="The first updates of a fresh policy on an easy task may be large; it must last.",
    reads=("policy.kl",),
    limits={"kl": 0.15, "severe_kl": 1.0, "steps": 3},
    calibrated_on="healthy PPO runs (CartPole, Pendulum, Acrobot, seed 0): at most 0.022 nats. "
    "A learning rate of 0.05 reaches 0.25 in the median and 10 at most",
    detect=detect,
    bands=at_most("kl", "policy.kl"),
    traits=("on_policy",),
    references=("Engstrom et al. 2020",),
)
