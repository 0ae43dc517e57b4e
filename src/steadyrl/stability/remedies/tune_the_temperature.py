"""R394: pay for the task more than for randomness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting helps."""
    return None


REMEDY = Remedy(
    id="R394",
    name="tune-the-temperature",
    effect="Let the temperature tune itself (ent_coef auto in Stable-Baselines3), or set it to a "
    "hundredth of a step's reward.",
    safety="advice",
    restart=False,
    side_effects="None.",
    propose=propose,
)
