"""R362: a model that runs away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Begin to pull, or pull twice as hard, with a weight of 0.1 to 1."""
    del window
    weight = min(max(0.1, 2 * config.value_of("kl_weight")), 1.0)
    if config.value_of("kl") == "none":
        return {"kl": "loss", "kl_weight": weight}
    return {"kl_weight": weight} if weight > config.value_of("kl_weight") else None


REMEDY = Remedy(
    id="R362",
    name="stay-near-the-reference",
    effect="Tie the model to its reference: a KL term of weight 0.1, or one twice as strong (TRL: "
    "beta), or divide the learning rate by ten; go on from the last good checkpoint.",
    safety="automatic",
    side_effects="Slower learning; a pass of the reference model per update.",
    propose=propose,
    needs=("kl", "kl_weight"),
    traits=("language",),
)
