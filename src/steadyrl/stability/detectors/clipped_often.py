"""D103: most samples are clipped."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.bands import at_most
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Mean clip fraction of the last updates above the limit."""
    steps = int(limits["steps"])
    values = window.last("policy.clip_fraction", steps)
    if len(values) < steps or not float(values.mean()) > limits["share"]:
        return None
    share = float(values.mean())
    return Sighting(f"{share:.0%} of the samples are clipped", {"policy.clip_fraction": share})


RULE = Detector(
    id="D103",
    name="clipped-often",
    severity="warning",
    symptom="The ratio of most samples leaves the clip range.",
    why="A clipped sample teaches nothing: the update goes round in circles at the edge "
    "of what it may do.",
    false_alarms="A very small clip range by intention.",
    reads=("policy.clip_fraction",),
    limits={"share": 0.45, "steps": 5},
    calibrated_on="healthy PPO runs (CartPole, Pendulum, Acrobot, seed 0): at most 0.21. "
    "A learning rate of 0.05 reaches 0.63",
    detect=detect,
    bands=at_most("share", "policy.clip_fraction"),
    traits=("on_policy", "clipped"),
)
