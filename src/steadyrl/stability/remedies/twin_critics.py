"""R313: Two critics; targets use the smaller value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    current = getattr(config, "twin_critics", None)
    return {"twin_critics": True} if current is False else None


REMEDY = Remedy(
    id="R313",
    name="twin-critics",
    effect="Two critics; targets use the smaller value.",
    safety="on_request",
    restart=True,
    side_effects="Half again as much arithmetic.",
    propose=propose,
)
