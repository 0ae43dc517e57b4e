"""R370: Half as many completions in memory at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Half of what is held now, while there is more than one."""
    del window
    held = config.value_of("micro_batch_size") or config.samples_per_gradient
    return {"micro_batch_size": held // 2} if held > 1 else None


REMEDY = Remedy(
    id="R370",
    name="smaller-micro-batch",
    effect="Half as many completions in memory at once; the gradient is the same.",
    safety="on_request",
    side_effects="Slower updates.",
    propose=propose,
    needs=("micro_batch_size",),
    traits=("language",),
)
