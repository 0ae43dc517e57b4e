"""R312: One update per environment step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """One update per training, one training per step."""
    updates = config.value_of("updates_per_training")
    return {"updates_per_training": 1} if updates > 1 else None


REMEDY = Remedy(
    id="R312",
    name="fewer-updates",
    effect="One update per environment step.",
    safety="automatic",
    restart=False,
    side_effects="Slower per environment step, faster per second.",
    propose=propose,
    needs=("updates_per_training",),
)
