"""R390: a violated invariant is a bug."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


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
