"""R331: A clip range of 0.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is unusual."""
    value = config.value_of("clip_range")
    if 0.1 <= value <= 0.3:
        return None
    return {"clip_range": 0.2}


REMEDY = Remedy(
    id="R331",
    name="usual-clip-range",
    effect="A clip range of 0.2.",
    safety="automatic",
    restart=False,
    side_effects="None known.",
    propose=propose,
    needs=("clip_range",),
)
