"""R302: Raise the learning rate tenfold, at least to what is usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.usual import usual_rates
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Ten times as much, at least 1e-3; of language models within their usual range."""
    rate, least, most = config.value_of("learning_rate"), 1e-3, 1e-2
    if config.is_a("language"):
        least, most = usual_rates(config)
    higher = min(max(rate * 10, least), most)
    return {"learning_rate": higher} if higher > rate else None


REMEDY = Remedy(
    id="R302",
    name="raise-learning-rate",
    effect="Raise the learning rate tenfold, at least to 1e-3 (language models: to the bottom of "
    "their usual range).",
    safety="automatic",
    restart=False,
    side_effects="May overshoot; watch the critic.",
    propose=propose,
    needs=("learning_rate",),
)
