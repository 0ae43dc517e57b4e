"""R314: begin to learn after five batches' worth of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Five batches, but never more than a fifth of the budget."""
    starts, batch = getattr(config, "learning_starts", None), getattr(config, "batch_size", 0)
    if starts is None:
        return None
    later = min(5 * batch, config.total_env_steps // 5)
    return {"learning_starts": later} if later > starts else None


REMEDY = Remedy(
    id="R314",
    name="later-start",
    effect="Begin to learn after five batches' worth of steps.",
    safety="on_request",
    restart=True,
    side_effects="More random actions at the beginning.",
    propose=propose,
)
