"""R347: Learn from five times as many trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Only the scripted expert can play more; a file holds what it holds."""
    demonstrations = config.value_of("demonstrations")
    if demonstrations.path is not None:
        return None
    return {"demonstrations.trajectories": 5 * (demonstrations.trajectories or 1)}


REMEDY = Remedy(
    id="R347",
    name="more-trajectories",
    effect="Learn from five times as many trajectories.",
    safety="on_request",
    restart=True,
    side_effects="Somebody must record them; the scripted expert does.",
    propose=propose,
    needs=("demonstrations",),
    traits=("cloning",),
)
