"""R340: No standard deviation below 0.05."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where the floor is lower and deviations are learned."""
    floor = config.value_of("std_floor")
    if floor >= 0.05 or config.value_of("std") == "fixed":
        return None
    return {"std_floor": 0.05}


REMEDY = Remedy(
    id="R340",
    name="deviation-floor",
    effect="No standard deviation below 0.05.",
    safety="automatic",
    restart=False,
    side_effects="Likelihoods are no longer comparable with those before.",
    propose=propose,
    needs=("std_floor", "std"),
    traits=("cloning",),
)
