"""R372: Compute activations again in the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where they are kept."""
    del window
    return None if config.value_of("model.recompute") else {"model.recompute": True}


REMEDY = Remedy(
    id="R372",
    name="recompute-activations",
    effect="Compute activations again in the backward pass instead of keeping them.",
    safety="on_request",
    side_effects="About a third more time per update.",
    propose=propose,
    needs=("model.recompute",),
    traits=("language",),
)
