"""R342: Clip the gradient of the clone at norm 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is not clipped."""
    return {"gradient_clip": 1.0} if config.value_of("gradient_clip") is None else None


REMEDY = Remedy(
    id="R342",
    name="clip-cloning",
    effect="Clip the gradient of the clone at norm 1.",
    safety="automatic",
    restart=False,
    side_effects="Slower where gradients are large throughout.",
    propose=propose,
    needs=("gradient_clip",),
    traits=("cloning",),
)
