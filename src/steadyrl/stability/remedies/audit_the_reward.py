"""R368: a reward that can be had without a right answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting helps."""
    del config, window
    return None


REMEDY = Remedy(
    id="R368",
    name="audit-the-reward",
    effect="Read the best-paid completions, close what they exploit, and train on more problems; "
    "go on from the checkpoint at which held-out problems were answered best.",
    safety="advice",
    side_effects="Rewards before and after are not comparable.",
    propose=propose,
)
