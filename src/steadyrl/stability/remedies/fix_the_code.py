"""R390: a violated invariant is a bug."""

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
    id="R390",
    name="fix-the-code",
    effect="A violated invariant is a bug: no setting mends it. The finding names the quantity "
    "to follow.",
    safety="advice",
    restart=False,
    side_effects="None.",
    propose=propose,
)
