"""After line searches failed in a row: a smaller trust region and more damping.

It cannot mend a wrong direction, but it ends a row of steps that are too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def adjust(window: Window, config: RunConfig) -> Adjustment | None:
    """After every `stabiliser_failures` straight failures, down to the floor and up to the cap."""
    held = config.value_of
    if not held("stabiliser"):
        return None
    straight = int(window.latest("trpo.failed_in_a_row", 0.0))
    if straight == 0 or straight % held("stabiliser_failures"):
        return None
    kl = max(held("stabiliser_kl_floor"), held("max_kl") * held("stabiliser_kl_ratio"))
    damping = min(
        held("stabiliser_damping_cap"), held("damping") * held("stabiliser_damping_ratio")
    )
    changes = {}
    if kl < held("max_kl"):
        changes["max_kl"] = kl
    if damping > held("damping"):
        changes["damping"] = damping
    if not changes:
        return None
    return Adjustment(changes, f"{straight} line searches in a row failed")
