"""R332: An entropy weight of 0.01."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is larger; the floor goes with it."""
    weight = config.value_of("entropy_weight")
    if weight <= 0.01:
        return None
    floor = min(config.value_of("entropy_floor"), 0.01)
    return {"entropy_weight": 0.01, "entropy_floor": floor}


REMEDY = Remedy(
    id="R332",
    name="usual-entropy-weight",
    effect="An entropy weight of 0.01.",
    safety="automatic",
    restart=False,
    side_effects="Less exploration.",
    propose=propose,
    needs=("entropy_weight", "entropy_floor"),
)
