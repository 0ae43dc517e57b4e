"""D046: nothing that follows depends on the actions."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned
from steadyrl.stability.window import Window

EFFECT = "environment.action_effect"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """No look ever found an effect, nor has anybody learned."""
    if window.count(EFFECT) < limits["looks"]:
        return None
    effect = window.highest(EFFECT)
    if not effect < limits["effect"] or learned(window) == "yes":
        return None
    return Sighting(
        f"actions explain {effect:.1%} of what the state leaves open of the next one and of the "
        "reward, up to eight steps later",
        {EFFECT: effect},
    )


RULE = Detector(
    id="D046",
    name="actions-change-nothing",
    severity="warning",
    symptom="What follows an action is the same whatever the action was.",
    why="Nothing can be learned where no action changes anything: the action is dropped, replaced "
    "or overwritten on its way to the world.",
    false_alarms="Worlds in which a single step's action weighs next to nothing against noise, and "
    "those in which actions only matter in states that were not reached.",
    reads=(EFFECT,),
    limits={"looks": 3, "effect": 0.01},
    calibrated_on="2,000 random steps of CartPole, Pendulum, Acrobot and both MountainCars each: "
    "0.79 to 1.00; with actions replaced by random ones 0.000",
    detect=detect,
    traits=("acts",),
)
