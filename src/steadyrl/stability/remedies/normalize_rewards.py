"""R337: Divide rewards by the deviation of the discounted return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    return None if config.value_of("normalize_rewards") else {"normalize_rewards": True}


REMEDY = Remedy(
    id="R337",
    name="normalize-rewards",
    effect="Divide rewards by the running deviation of the discounted return.",
    safety="automatic",
    restart=True,
    side_effects="Values learned before are on another scale.",
    propose=propose,
    needs=("normalize_rewards",),
    traits=("acts",),
)
