"""R341: Adam's second moment forgets within 20 steps (beta2 0.95)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where the memory is longer."""
    decay = config.value_of("second_moment_decay")
    return {"second_moment_decay": 0.95} if decay > 0.95 else None


REMEDY = Remedy(
    id="R341",
    name="shorter-memory",
    effect="Adam's second moment forgets within 20 steps (beta2 0.95).",
    safety="automatic",
    restart=False,
    side_effects="Noisier steps.",
    propose=propose,
    needs=("second_moment_decay",),
    traits=("cloning",),
)
