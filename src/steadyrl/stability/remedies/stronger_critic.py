"""R335: Give the value function its usual weight, step size and passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """What is below the usual is brought up to it."""
    usual = {"value_weight": 0.5, "critic_learning_rate": 1e-3, "critic_epochs": 10}
    changes = {
        name: value
        for name, value in usual.items()
        if (held := config.value_of(name)) is not None and held < value
    }
    return changes or None


REMEDY = Remedy(
    id="R335",
    name="stronger-critic",
    effect="Give the value function its usual weight, step size and passes.",
    safety="automatic",
    restart=False,
    side_effects="More time per update.",
    propose=propose,
)
