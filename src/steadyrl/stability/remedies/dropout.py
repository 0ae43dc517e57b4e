"""R349: Silence a tenth of the hidden units while learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there is none."""
    return {"dropout": 0.1} if config.value_of("dropout") == 0.0 else None


REMEDY = Remedy(
    id="R349",
    name="dropout",
    effect="Silence a tenth of the hidden units while learning.",
    safety="on_request",
    restart=True,
    side_effects="Slower steps: autograd takes over.",
    propose=propose,
    needs=("dropout",),
    traits=("cloning",),
)
