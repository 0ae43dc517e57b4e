"""R333: A damping of 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is larger."""
    value = config.value_of("damping")
    if not value > 0.2:
        return None
    return {"damping": 0.1}


REMEDY = Remedy(
    id="R333",
    name="usual-damping",
    effect="A damping of 0.1.",
    safety="automatic",
    restart=False,
    side_effects="Longer steps.",
    propose=propose,
    needs=("damping",),
)
