"""R364: Clip the gradient of a language model at a norm of 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where nothing is clipped."""
    del window
    return {"gradient_clip": 1.0} if config.value_of("gradient_clip") is None else None


REMEDY = Remedy(
    id="R364",
    name="clip-language-gradients",
    effect="Clip the gradient at a norm of 1.",
    safety="automatic",
    side_effects="Slightly smaller steps.",
    propose=propose,
    needs=("gradient_clip",),
    traits=("language",),
)
