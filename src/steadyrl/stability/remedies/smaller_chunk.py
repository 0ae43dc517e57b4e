"""R373: Half as many positions whose logits are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """While there is more than one."""
    del window
    chunk = config.value_of("model.chunk")
    return {"model.chunk": chunk // 2} if chunk > 1 else None


REMEDY = Remedy(
    id="R373",
    name="smaller-chunk",
    effect="Half as many positions whose logits are in memory at once; the numbers are the same.",
    safety="on_request",
    side_effects="Slightly slower updates.",
    propose=propose,
    needs=("model.chunk",),
    traits=("language",),
)
