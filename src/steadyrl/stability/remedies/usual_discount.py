"""R315: Set gamma to 0.99."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """0.99, unless it is higher already."""
    gamma = config.value_of("gamma")
    return {"gamma": 0.99} if gamma < 0.95 else None


REMEDY = Remedy(
    id="R315",
    name="usual-discount",
    effect="Set gamma to 0.99.",
    safety="on_request",
    restart=True,
    side_effects="Values grow to a hundred times a reward.",
    propose=propose,
    needs=("gamma",),
)
