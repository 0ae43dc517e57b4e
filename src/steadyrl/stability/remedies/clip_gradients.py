"""R309: Clip each network's gradient at ten times its usual norm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Ten times the median norm seen, if that would have clipped anything."""
    norms = window.last("critic.gradient_norm")
    if not len(norms) or config.value_of("gradient_clip") is not None:
        return None
    clip = float(f"{10 * median(norms):.2g}")
    seen = max(window.highest("critic.gradient_norm"), window.latest("critic.gradient_norm_max"))
    return {"gradient_clip": clip} if seen > clip else None


REMEDY = Remedy(
    id="R309",
    name="clip-gradients",
    effect="Clip each network's gradient at ten times its usual norm.",
    safety="automatic",
    restart=False,
    side_effects="With Adam the effect on ordinary updates is small.",
    propose=propose,
    needs=("gradient_clip",),
    traits=("off_policy",),
)
