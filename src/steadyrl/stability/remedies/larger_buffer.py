"""R311: A replay buffer for the whole budget, up to 100,000 transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """As large as the budget, at most 100,000, at least a hundred batches."""
    size, batch = config.value_of("buffer_size"), config.value_of("batch_size")
    wanted = max(min(config.budget, 100_000), 100 * batch)
    return {"buffer_size": wanted} if wanted > size else None


REMEDY = Remedy(
    id="R311",
    name="larger-buffer",
    effect="A replay buffer for the whole budget, up to 100,000 transitions.",
    safety="on_request",
    restart=True,
    side_effects="Memory.",
    propose=propose,
    needs=("buffer_size", "batch_size"),
)
