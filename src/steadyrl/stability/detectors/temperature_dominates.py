"""D045: a soft actor is paid more for being random than for its rewards."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned, standing
from steadyrl.stability.window import Window

WEIGHT, LENGTH = "setting.entropy_weight", "rollout.length_mean"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: an entropy weight above what a step earns, far above if the run has learned."""
    if not window.ended or window.count(WEIGHT) < limits["values"]:
        return None
    times = limits["times_if_learned"] if learned(window) == "yes" else limits["times"]
    weights = window.last(WEIGHT, int(limits["values"]))
    weight, length = median(weights), window.latest(LENGTH)
    earned = abs(standing(window).last) / length if length > 0 else float("nan")
    if not weight > times * earned:
        return None
    return Sighting(
        f"the entropy weight is {amount(weight, 3)}; a step's reward is "
        f"{amount(earned, 3)} in size",
        {WEIGHT: weight, "reward_per_step": earned},
    )


RULE = Detector(
    id="D045",
    name="temperature-dominates",
    severity="warning",
    symptom="The entropy weight (temperature) is larger than the rewards, and nothing was learned, "
    "or it is many times larger.",
    why="A policy that is paid more for being random than for its task stays random.",
    false_alarms="Sparse rewards, before the first success.",
    reads=(WEIGHT, LENGTH),
    limits={"values": 10, "times": 1.5, "times_if_learned": 20.0},
    calibrated_on="quiet on half of 54 public logs, two of them of SAC, and on 15 healthy runs of "
    "Stable-Baselines3's SAC and TQC on Pendulum and MountainCarContinuous (at most 1.4 "
    "times); with a weight of 20, which learns on MountainCarContinuous all the same, 318 times",
    detect=detect,
    traits=("off_policy", "climbs_values"),
    looks_back=True,
)
