"""R301: Divide the learning rate by ten, or bring it down to what is usual if that is lower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.usual import usual_rates
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """A tenth, but not above 1e-3 and not below 1e-6; of language models within their range."""
    rate, highest, lowest = config.value_of("learning_rate"), 1e-3, 1e-6
    if config.is_a("language"):
        lowest, highest = usual_rates(config)
    lower = max(min(rate / 10, highest), lowest)
    return {"learning_rate": lower} if lower < rate else None


REMEDY = Remedy(
    id="R301",
    name="lower-learning-rate",
    effect="Divide the learning rate by ten, or bring it down to 1e-3 if that is lower (language "
    "models: to the top of their usual range).",
    safety="automatic",
    restart=False,
    side_effects="Slower learning.",
    propose=propose,
    needs=("learning_rate",),
)
