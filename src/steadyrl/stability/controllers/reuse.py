"""How often old experience may be drawn, by how far the policy moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

MOVED = "policy.kl"


def adjust(window: Window, config: RunConfig) -> Adjustment | None:
    """Often while the policy hardly moves, seldom while it does; after each update."""
    held = config.value_of
    if not (held("replay.enabled") and held("replay.adaptive_reuse") and window.fresh(MOVED)):
        return None
    moved, limit = window.latest(MOVED), held("replay.reuse_kl")
    wanted = held("replay.reuse_slow") if moved < limit else held("replay.reuse_fast")
    if wanted == held("replay.reuse"):
        return None
    side = "below" if moved < limit else "not below"
    return Adjustment({"replay.reuse": wanted}, f"KL of the update {moved:.3g}, {side} {limit:g}")
