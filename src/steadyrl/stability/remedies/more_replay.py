"""R380: A larger buffer whose items last longer and are used more often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

WANTED = {"replay.capacity": 2_000, "replay.reuse": 6, "replay.staleness": 150}


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """What is below."""
    del window
    if not config.value_of("replay.enabled"):
        return None
    return {name: value for name, value in WANTED.items() if config.value_of(name) < value} or None


REMEDY = Remedy(
    id="R380",
    name="more-replay",
    effect="A larger buffer whose items last longer and are used more often.",
    safety="on_request",
    restart=False,
    side_effects="Older samples.",
    propose=propose,
    needs=("replay.enabled",),
    traits=("clipped",),
)
