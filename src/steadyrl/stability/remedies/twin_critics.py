"""R313: Two critics; targets use the smaller value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    return None if config.value_of("twin_critics") else {"twin_critics": True}


REMEDY = Remedy(
    id="R313",
    name="twin-critics",
    effect="Two critics; targets use the smaller value.",
    safety="on_request",
    restart=True,
    side_effects="Half again as much arithmetic.",
    propose=propose,
    needs=("twin_critics",),
)
