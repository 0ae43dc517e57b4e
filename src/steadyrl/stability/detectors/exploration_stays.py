"""D044: actions are still taken at random at the end."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.standing import learned
from steadyrl.stability.window import Window

RATE = "setting.exploration_rate"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """At the end: a high share of random actions in a run that has not learned."""
    if not window.ended or window.count(RATE) < limits["values"]:
        return None
    rate = window.latest(RATE)
    if not rate > limits["rate"] or learned(window) == "yes":
        return None
    return Sighting(
        f"at the end of the record {rate:.0%} of the actions are taken at random "
        f"({window.first(RATE):.0%} at first)",
        {RATE: rate},
    )


RULE = Detector(
    id="D044",
    name="exploration-stays",
    severity="warning",
    symptom="The share of random actions hardly fell, and nothing was learned.",
    why="What is learned is never acted upon, so its mistakes are never seen and no return shows "
    "it.",
    false_alarms="A record of the first part of a long schedule.",
    reads=(RATE,),
    limits={"rate": 0.3, "values": 10},
    calibrated_on="usual schedules end at 0.01 to 0.1 (Stable-Baselines3, CleanRL, Tianshou); one "
    "public log that ends at 0.72",
    detect=detect,
    traits=("off_policy",),
    looks_back=True,
)
