"""D105: the policy is as random as at the start, or more."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Entropy share near 1, or a standard deviation well above its start, late in the run."""
    steps = int(limits["steps"])
    if window.count("policy.entropy") < 2 * steps or window.progress < limits["progress"]:
        return None
    shares = window.last("policy.entropy_share", steps)
    if len(shares) and float(shares.min()) > limits["share"]:
        share = median(shares)
        return Sighting(
            f"{window.so_far} the policy has {min(share, 1.0):.1%} of the largest possible entropy",
            {"policy.entropy_share": share},
        )
    spreads = window.last("policy.std", steps)
    first = window.first("policy.std")
    if len(spreads) and float(spreads.min()) > limits["growth"] * first:
        spread = median(spreads)
        return Sighting(
            f"the standard deviation of actions grew from {first:.3g} to {spread:.3g}",
            {"policy.std": spread, "first": first},
        )
    return None


RULE = Detector(
    id="D105",
    name="policy-stays-random",
    severity="warning",
    symptom="Entropy stays at its maximum, or the standard deviation keeps growing.",
    why="Something pulls harder towards randomness than the reward does towards skill.",
    false_alarms="A task without any signal yet (sparse reward): there the policy has no reason "
    "to commit.",
    reads=("policy.entropy",),
    limits={"share": 0.97, "growth": 1.6, "steps": 10, "progress": 0.3},
    calibrated_on="healthy PPO and TRPO runs (seed 0): shares fall below 0.7, deviations reach "
    "1.06 times their start. A learning rate of 1e-6 stays at 1.00",
    detect=detect,
    traits=("acts", "on_policy"),
    references=("stable-baselines3#476", "stable-baselines3#2240"),
)
