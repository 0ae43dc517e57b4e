"""R332: An entropy weight of 0.01."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is larger; the floor, if there is one, goes with it."""
    if config.value_of("entropy_weight") <= 0.01:
        return None
    changes = {"entropy_weight": 0.01}
    if config.has("entropy_floor"):
        changes["entropy_floor"] = min(config.value_of("entropy_floor"), 0.01)
    return changes


REMEDY = Remedy(
    id="R332",
    name="usual-entropy-weight",
    effect="An entropy weight of 0.01.",
    safety="automatic",
    restart=False,
    side_effects="Less exploration.",
    propose=propose,
    needs=("entropy_weight",),
)
