"""R310: Learn on observations of mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    off = not config.value_of("normalize_observations")
    return {"normalize_observations": True} if off and not config.plays_atari else None


REMEDY = Remedy(
    id="R310",
    name="normalize-observations",
    effect="Learn on observations of mean 0 and variance 1.",
    safety="on_request",
    restart=True,
    side_effects="Weights learned before do not fit.",
    propose=propose,
    needs=("normalize_observations",),
)
