"""D153: the reference moves with the policy."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

NAME = "language.reference_kl"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """No distance at all after many updates that did move the policy."""
    if window.count(NAME) < limits["steps"]:
        return None
    furthest = window.highest(NAME)
    step = window.highest("policy.kl") if window.has("policy.kl") else 0.0
    moved = window.highest("policy.update_ratio") > 0 or step > 0
    if not moved or not furthest <= max(limits["kl"], limits["share"] * step):
        return None
    return Sighting(
        f"after {window.count(NAME)} updates that moved the policy it is {furthest:.2g} nats away "
        "from its reference at most",
        {NAME: furthest, "policy.kl": step},
    )


RULE = Detector(
    id="D153",
    name="reference-is-the-policy",
    severity="severe",
    symptom="The KL divergence from the reference stays exactly 0 while the policy moves.",
    why="The reference shares the policy's weights, so that nothing ties the model to where it "
    "came from: the penalty is 0 whatever its weight.",
    false_alarms="A learning rate so small that nothing moves measurably.",
    reads=("language.reference_kl",),
    limits={"steps": 10, "kl": 1e-9, "share": 0.01},
    calibrated_on="an invariant: a frozen copy is left behind by the first update",
    detect=detect,
    traits=("language",),
)
