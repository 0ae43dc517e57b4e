"""R345: Draw samples with large errors more often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where all are drawn alike."""
    sampling = config.value_of("sampling")
    return {"sampling": "difficulty"} if sampling != "difficulty" else None


REMEDY = Remedy(
    id="R345",
    name="difficult-samples",
    effect="Draw samples with large errors more often.",
    safety="on_request",
    restart=True,
    side_effects="Outliers are drawn most.",
    propose=propose,
    needs=("sampling",),
    traits=("cloning",),
)
