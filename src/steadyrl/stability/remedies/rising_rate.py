"""R374: the learning rate rises to its value over the first updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

UPDATES = 5


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Five updates, where there are fewer."""
    del window
    return {"warm_up": UPDATES} if config.value_of("warm_up") < UPDATES else None


REMEDY = Remedy(
    id="R374",
    name="rising-rate",
    effect="The learning rate rises to its value over the first five updates.",
    safety="automatic",
    restart=True,
    side_effects="The first updates teach less.",
    propose=propose,
    needs=("warm_up",),
    traits=("language",),
)
