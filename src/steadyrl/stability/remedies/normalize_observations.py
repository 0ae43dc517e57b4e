"""R310: Learn on observations of mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """On, unless it is already."""
    current = getattr(config, "normalize_observations", None)
    images = config.environment.id.startswith("ALE/")  # divided by 255 already
    return {"normalize_observations": True} if current is False and not images else None


REMEDY = Remedy(
    id="R310",
    name="normalize-observations",
    effect="Learn on observations of mean 0 and variance 1.",
    safety="on_request",
    restart=True,
    side_effects="Weights learned before do not fit.",
    propose=propose,
)
