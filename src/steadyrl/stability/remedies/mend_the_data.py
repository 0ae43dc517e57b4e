"""R392: demonstrations that contradict themselves."""

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
    id="R392",
    name="mend-the-data",
    effect="Look at the file with 'steadyrl demos inspect': align observations and actions, remove "
    "contradictions, record what the operator saw.",
    safety="advice",
    side_effects="None.",
    propose=propose,
)
