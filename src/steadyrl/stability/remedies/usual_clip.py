"""R331: A clip range of 0.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.usual import clip_settings
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where it is unusual, in either direction."""
    unusual = {name: 0.2 for name, clip in clip_settings(config).items() if not 0.1 <= clip <= 0.3}
    return unusual or None


REMEDY = Remedy(
    id="R331",
    name="usual-clip-range",
    effect="A clip range of 0.2.",
    safety="automatic",
    restart=False,
    side_effects="None known.",
    propose=propose,
    traits=("clipped",),
)
