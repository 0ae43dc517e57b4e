"""R342: Clip the gradient of the clone at norm 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is not clipped."""
    if config.algorithm != "bc" or getattr(config, "gradient_clip", 0.0) is not None:
        return None
    return {"gradient_clip": 1.0}


REMEDY = Remedy(
    id="R342",
    name="clip-cloning",
    effect="Clip the gradient of the clone at norm 1.",
    safety="automatic",
    restart=False,
    side_effects="Slower where gradients are large throughout.",
    propose=propose,
)
