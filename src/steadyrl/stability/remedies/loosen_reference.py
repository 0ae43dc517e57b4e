"""R369: A weaker pull towards the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

USUAL = 0.02


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there is a pull, and it is stronger than usual."""
    del window
    if config.value_of("kl") == "none" or config.value_of("kl_weight") <= USUAL:
        return None
    return {"kl_weight": USUAL}


REMEDY = Remedy(
    id="R369",
    name="loosen-reference",
    effect=f"A KL weight of {USUAL}.",
    safety="automatic",
    side_effects="The model may leave its reference: watch the KL.",
    propose=propose,
    needs=("kl", "kl_weight"),
    traits=("language",),
)
