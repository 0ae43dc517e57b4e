"""R316: Set gamma to 0.95."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """0.95, where the horizon is less than half of that."""
    gamma = config.value_of("gamma")
    return {"gamma": 0.95} if gamma < 0.9 else None


REMEDY = Remedy(
    id="R316",
    name="middle-discount",
    effect="Set gamma to 0.95: twenty steps ahead, where a hundred is more than the critic learns.",
    safety="on_request",
    restart=True,
    side_effects="Consequences beyond twenty steps count little.",
    propose=propose,
    needs=("gamma",),
)
