"""R330: Fewer passes over every batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there are more than ten, or where half of a language model's would do."""
    epochs = config.value_of("epochs")
    if config.has("target_kl"):
        return {"epochs": 10, "target_kl": 0.02} if epochs > 10 else None
    return {"epochs": min(epochs // 2, 4)} if epochs > 2 else None


REMEDY = Remedy(
    id="R330",
    name="usual-epochs",
    effect="Ten passes over every rollout, ended early at a KL of 0.02. Language models: half as "
    "many passes, four at most.",
    safety="automatic",
    restart=False,
    side_effects="Less is learned from each rollout.",
    propose=propose,
    needs=("epochs",),
    traits=("clipped",),
)
