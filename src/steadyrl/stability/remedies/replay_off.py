"""R383: Fresh samples only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is on."""
    del window
    return {"replay.enabled": False} if config.value_of("replay.enabled") else None


REMEDY = Remedy(
    id="R383",
    name="replay-off",
    effect="Fresh samples only: if it then learns, replay was the matter.",
    safety="on_request",
    restart=False,
    side_effects="Every sample is used in one update only.",
    propose=propose,
    needs=("replay.enabled",),
    traits=("clipped",),
)
