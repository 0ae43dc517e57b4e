"""R391: make early ends cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """The environment has no setting for it: its author must decide."""
    return None


REMEDY = Remedy(
    id="R391",
    name="change-the-task",
    effect="Make early ends cost: add a penalty on failure, or a positive reward for each step "
    "survived.",
    safety="advice",
    restart=False,
    side_effects="Returns before and after are not comparable.",
    propose=propose,
)
