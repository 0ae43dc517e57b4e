"""R314: begin to learn after five batches' worth of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Five batches, but never more than a fifth of the budget."""
    starts, batch = config.value_of("learning_starts"), config.value_of("batch_size")
    later = min(5 * batch, config.budget // 5)
    return {"learning_starts": later} if later > starts else None


REMEDY = Remedy(
    id="R314",
    name="later-start",
    effect="Begin to learn after five batches' worth of steps.",
    safety="on_request",
    restart=True,
    side_effects="More random actions at the beginning.",
    propose=propose,
    needs=("learning_starts", "batch_size"),
)
