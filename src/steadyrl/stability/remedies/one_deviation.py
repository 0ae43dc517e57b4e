"""R348: One standard deviation for all states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where every state has its own."""
    return {"std": "global"} if config.value_of("std") == "state" else None


REMEDY = Remedy(
    id="R348",
    name="one-deviation",
    effect="One standard deviation for all states.",
    safety="on_request",
    restart=True,
    side_effects="Certainty can no longer differ between states.",
    propose=propose,
    needs=("std",),
    traits=("cloning",),
)
