"""R338: A trust region of 0.03 nats, three times the usual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is far from the range in which TRPO is run."""
    value = config.value_of("max_kl")
    if 5e-4 <= value <= 0.05:
        return None
    return {"max_kl": 0.03}


REMEDY = Remedy(
    id="R338",
    name="wider-trust-region",
    effect="A trust region of 0.03 nats, three times the usual: for budgets of few updates.",
    safety="automatic",
    restart=False,
    side_effects="Longer steps than the usual region's, less sure ones.",
    propose=propose,
    needs=("max_kl",),
)
