"""Steering a language model's distance from its reference by the weight of the KL term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

DISTANCE = "language.reference_kl"
FAR, NEAR = 2.0, 0.5  # of the target
HARDER, SOFTER = 1.5, 0.8


def adjust(window: Window, config: RunConfig) -> Adjustment | None:
    """After each update: half as strong again beyond twice the target, weaker below half of it."""
    target = config.value_of("kl_target")
    if not target or not window.fresh(DISTANCE):
        return None
    distance, weight = window.latest(DISTANCE), config.value_of("kl_weight")
    if distance > FAR * target:
        changed = min(weight * HARDER, config.value_of("kl_weight_cap"))
    elif distance < NEAR * target:
        changed = max(weight * SOFTER, config.value_of("kl_weight_floor"))
    else:
        return None
    if (changed > weight) != (distance > FAR * target) or changed == weight:
        return None  # at its floor or cap, or beyond it by the user's choice
    return Adjustment(
        {"kl_weight": changed},
        f"{distance:.3g} nats per token from the reference, to be steered to {target:g}",
    )
