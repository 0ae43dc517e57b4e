"""R308: Set the exploration noise to 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """0.1 of half the action range."""
    noise = config.value_of("noise_std")
    return None if 0.05 <= noise <= 0.3 else {"noise_std": 0.1}


REMEDY = Remedy(
    id="R308",
    name="usual-noise",
    effect="Set the exploration noise to 0.1.",
    safety="automatic",
    restart=False,
    side_effects="None.",
    propose=propose,
    needs=("noise_std",),
)
