"""R330: Ten passes over every rollout, ended early at a KL of 0.02."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there are more."""
    epochs = config.value_of("epochs")
    if epochs <= 10:
        return None
    return {"epochs": 10, "target_kl": 0.02}


REMEDY = Remedy(
    id="R330",
    name="usual-epochs",
    effect="Ten passes over every rollout, ended early at a KL of 0.02.",
    safety="automatic",
    restart=False,
    side_effects="Less is learned from each rollout.",
    propose=propose,
    needs=("epochs", "target_kl"),
)
