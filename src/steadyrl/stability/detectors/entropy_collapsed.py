"""D104: the policy no longer explores, and has not learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window, called, evaluation_noise, objective, returns_of


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Entropy share below the limit while the return stands where it began."""
    steps = int(limits["steps"])
    values = window.last("policy.entropy_share", steps)
    if len(values) < steps or not float(values.max()) < limits["share"]:
        return None
    name = objective(window)
    returns = returns_of(window, name)
    if len(returns) < 4:
        return None
    start, recent = float(np.median(returns[:2])), float(np.median(returns[-3:]))
    if recent - start > limits["gain_over_noise"] * evaluation_noise(window) + 0.1 * abs(start):
        return None
    return Sighting(
        f"the policy has {float(values[-1]):.1%} of its possible entropy left, and the "
        f"{called(name)} is {recent:,.4g} ({start:,.4g} at first)",
        {"policy.entropy_share": float(values[-1]), name: recent},
    )


RULE = Detector(
    id="D104",
    name="entropy-collapsed",
    severity="severe",
    symptom="The policy is almost deterministic although evaluations are no better than at "
    "the start.",
    why="What is never tried is never learned: from here the gradient is nearly zero "
    "and nothing brings it back.",
    false_alarms="A task that is solved: low entropy at a good return is what success looks "
    "like, and is not reported.",
    reads=("policy.entropy_share",),
    limits={"share": 0.05, "steps": 5, "gain_over_noise": 2.0},
    calibrated_on="healthy PPO runs (CartPole, Acrobot, seed 0): 0.09 at least, at a good return. "
    "A clip range of 5 falls to 0.018 at a poor one",
    detect=detect,
    algorithms=("ppo", "trpo"),
    references=("stable-baselines3#897",),
)
