"""R382: Old samples are drawn evenly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where they are not."""
    del window
    uneven = config.value_of("replay.enabled") and config.value_of("replay.priority") != "uniform"
    return {"replay.priority": "uniform"} if uneven else None


REMEDY = Remedy(
    id="R382",
    name="even-draws",
    effect="Old samples are drawn evenly.",
    safety="automatic",
    restart=False,
    side_effects="Rare surprises are seen less often.",
    propose=propose,
    needs=("replay.enabled",),
    traits=("clipped",),
)
