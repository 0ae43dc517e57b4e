"""R346: The learning rate falls to 0 along a cosine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is constant."""
    if config.algorithm != "bc" or getattr(config, "learning_rate_schedule", "") != "constant":
        return None
    return {"learning_rate_schedule": "cosine"}


REMEDY = Remedy(
    id="R346",
    name="falling-rate",
    effect="The learning rate falls to 0 along a cosine.",
    safety="on_request",
    restart=True,
    side_effects="Slower at the end.",
    propose=propose,
)
