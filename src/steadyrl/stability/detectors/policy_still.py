"""D107: the policy hardly moves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steadyrl.stability.bands import at_least
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Every KL of the last updates below the limit; failed searches do not count."""
    steps = int(limits["steps"])
    if not window.latest("policy.kl") < limits["kl"]:
        return None
    rate = "setting.learning_rate"
    if window.latest(rate, math.inf) < limits["schedule"] * window.first(rate):
        return None  # it is led to a standstill on purpose
    values = window.last("policy.kl", steps)
    if len(values) < steps or not float(values.max()) < limits["kl"]:
        return None
    return Sighting(
        f"the policy moves by {float(values.max()):.1e} nats per update at most",
        {"policy.kl": float(values.max())},
    )


RULE = Detector(
    id="D107",
    name="policy-still",
    severity="warning",
    symptom="Update after update the policy stays where it is.",
    why="The budget is spent on rollouts that change nothing.",
    false_alarms="A solved task with vanishing advantages. The end of a learning-rate schedule is "
    "known and not reported.",
    reads=("policy.kl",),
    limits={"kl": 1e-05, "steps": 10, "schedule": 0.3},
    calibrated_on="healthy PPO and TRPO runs (seed 0): medians of 0.005 and more. "
    "A learning rate of 1e-6 gives 7e-8",
    detect=detect,
    bands=at_least("kl", "policy.kl"),
    traits=("acts", "on_policy"),
)
