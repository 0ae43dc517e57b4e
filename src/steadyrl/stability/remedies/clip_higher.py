"""R367: Let rare tokens rise further than frequent ones fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where the upper clip is lower than 0.28."""
    del window
    return {"clip_high": 0.28} if config.value_of("clip_high") < 0.28 else None


REMEDY = Remedy(
    id="R367",
    name="clip-higher",
    effect="An upper clip of 0.28: rare tokens may gain more per update (DAPO).",
    safety="on_request",
    side_effects="Entropy may grow.",
    propose=propose,
    needs=("clip_high",),
    traits=("language",),
)
