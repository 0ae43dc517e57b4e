"""R302: Raise the learning rate tenfold, at least to 1e-3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Ten times as much, at least 1e-3."""
    rate = config.value_of("learning_rate")
    higher = min(max(rate * 10, 1e-3), 1e-2)
    return {"learning_rate": higher} if higher > rate else None


REMEDY = Remedy(
    id="R302",
    name="raise-learning-rate",
    effect="Raise the learning rate tenfold, at least to 1e-3.",
    safety="automatic",
    restart=False,
    side_effects="May overshoot; watch the critic.",
    propose=propose,
    needs=("learning_rate",),
)
