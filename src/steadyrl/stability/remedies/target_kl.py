"""R339: end an update at a KL of 0.02."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

USUAL = 0.02


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where nothing or a larger KL ends it."""
    return {"target_kl": USUAL} if config.value_of("target_kl", math.inf) > USUAL else None


REMEDY = Remedy(
    id="R339",
    name="target-kl",
    effect="End an update when an epoch's KL passes 0.02.",
    safety="automatic",
    restart=False,
    side_effects="Fewer epochs in updates that move far.",
    propose=propose,
    needs=("target_kl",),
)
