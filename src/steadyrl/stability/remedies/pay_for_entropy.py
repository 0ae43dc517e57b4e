"""R366: An entropy weight of 0.02."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is less."""
    del window
    return {"entropy_weight": 0.02} if config.value_of("entropy_weight") < 0.02 else None


REMEDY = Remedy(
    id="R366",
    name="pay-for-entropy",
    effect="An entropy weight of 0.02.",
    safety="automatic",
    side_effects="Paid for long enough, the model becomes random: watch its entropy.",
    propose=propose,
    needs=("entropy_weight",),
    traits=("language",),
)
