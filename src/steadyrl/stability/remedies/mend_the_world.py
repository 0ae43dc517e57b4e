"""R397: what reaches or leaves the environment is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting of the learner helps."""
    return None


REMEDY = Remedy(
    id="R397",
    name="mend-the-environment",
    effect="Follow an action and a reward through step() and every wrapper. 'steadyrl check "
    "--environment module:id' asks the same by intervention, without training.",
    safety="advice",
    restart=False,
    side_effects="Returns before and after are not comparable.",
    propose=propose,
)
