"""R334: A trust region of 0.01 nats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is larger or far smaller."""
    value = config.value_of("max_kl")
    if 5e-4 <= value <= 0.01:
        return None
    return {"max_kl": 0.01}


REMEDY = Remedy(
    id="R334",
    name="usual-trust-region",
    effect="A trust region of 0.01 nats.",
    safety="automatic",
    restart=False,
    side_effects="Shorter steps where it was larger, longer ones where it was smaller.",
    propose=propose,
    needs=("max_kl",),
)
