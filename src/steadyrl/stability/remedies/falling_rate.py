"""R346: The learning rate falls to 0 along a cosine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is constant."""
    constant = config.value_of("learning_rate_schedule") == "constant"
    return {"learning_rate_schedule": "cosine"} if constant else None


REMEDY = Remedy(
    id="R346",
    name="falling-rate",
    effect="The learning rate falls to 0 along a cosine.",
    safety="on_request",
    restart=True,
    side_effects="Slower at the end.",
    propose=propose,
    needs=("learning_rate_schedule",),
    traits=("cloning",),
)
