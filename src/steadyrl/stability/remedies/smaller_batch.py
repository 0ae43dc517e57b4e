"""R344: A batch of 15 % of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is more than a fifth."""
    samples, size = window.latest("bc.samples"), config.value_of("batch_size")
    if not size > 0.2 * samples:
        return None
    return {"batch_size": max(1, round(0.15 * samples))}


REMEDY = Remedy(
    id="R344",
    name="smaller-batch",
    effect="A batch of 15 % of the data.",
    safety="on_request",
    restart=True,
    side_effects="Noisier gradients; fewer samples seen per step.",
    propose=propose,
    needs=("batch_size",),
    traits=("cloning",),
)
