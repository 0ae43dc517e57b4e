"""R304: Set tau to 0.005."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """0.005, unless it is near that already."""
    tau = config.value_of("tau")
    return None if 0.001 < tau < 0.009 else {"tau": 0.005}


REMEDY = Remedy(
    id="R304",
    name="usual-tau",
    effect="Set tau to 0.005.",
    safety="automatic",
    restart=False,
    side_effects="Values propagate over a few hundred updates.",
    propose=propose,
    needs=("tau",),
)
