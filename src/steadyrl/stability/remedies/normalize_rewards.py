"""R337: Divide rewards by the deviation of the discounted return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    current = getattr(config, "normalize_rewards", None)
    return {"normalize_rewards": True} if current is False else None


REMEDY = Remedy(
    id="R337",
    name="normalize-rewards",
    effect="Divide rewards by the running deviation of the discounted return.",
    safety="on_request",
    restart=True,
    side_effects="Values learned before are on another scale.",
    propose=propose,
)
