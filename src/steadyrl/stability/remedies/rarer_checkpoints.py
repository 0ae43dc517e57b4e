"""R375: Checkpoints so much rarer that they take a twentieth of the time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

WANTED = 0.05  # of the time


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """As much rarer as the time they take asks for, but at least three in a run."""
    share, every = window.latest("machine.writing_share"), config.checkpoints.every
    if not share > WANTED:
        return None
    rarer = min(every * math.ceil(share / WANTED), config.budget // 3)
    return {"checkpoints.every": rarer} if rarer > every else None


REMEDY = Remedy(
    id="R375",
    name="rarer-checkpoints",
    effect="Save the whole state so much less often that it takes a twentieth of the time; a "
    "resume may change it.",
    safety="on_request",
    restart=False,
    side_effects="A run that is killed does more of its work again.",
    propose=propose,
    needs=("checkpoints.every",),
)
