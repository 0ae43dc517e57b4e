"""R396: act upon what is learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting helps."""
    return None


REMEDY = Remedy(
    id="R396",
    name="let-exploration-fall",
    effect="Let the share of random actions fall to 0.05 within the first fifth of the training "
    "(exploration_fraction 0.2, exploration_final_eps 0.05).",
    safety="advice",
    restart=False,
    side_effects="None.",
    propose=propose,
)
