"""After line searches failed in a row: a smaller trust region and more damping.

It cannot mend a wrong direction, but it ends a row of steps that are too long.
"""

from __future__ import annotations

from steadyrl.core.configs.run import RunConfig
from steadyrl.core.configs.trpo import TRPOConfig
from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.window import Window


def adjust(window: Window, config: RunConfig) -> Adjustment | None:
    """After every `stabiliser_failures` straight failures, down to the floor and up to the cap."""
    if not isinstance(config, TRPOConfig) or not config.stabiliser:
        return None
    straight = int(window.latest("trpo.failed_in_a_row", 0.0))
    if straight == 0 or straight % config.stabiliser_failures:
        return None
    kl = max(config.stabiliser_kl_floor, config.max_kl * config.stabiliser_kl_ratio)
    damping = min(config.stabiliser_damping_cap, config.damping * config.stabiliser_damping_ratio)
    changes = {}
    if kl < config.max_kl:
        changes["max_kl"] = kl
    if damping > config.damping:
        changes["damping"] = damping
    if not changes:
        return None
    return Adjustment(changes, f"{straight} line searches in a row failed")
