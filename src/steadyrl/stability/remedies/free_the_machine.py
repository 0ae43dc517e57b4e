"""R320: Use one torch thread per run, end other jobs, free memory or disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Nothing that a setting could do, except the threads."""
    return {"compute.threads": 1} if config.compute.threads > 1 else None


REMEDY = Remedy(
    id="R320",
    name="free-the-machine",
    effect="Use one torch thread per run, end other jobs, free memory or disk.",
    safety="advice",
    restart=False,
    side_effects="None.",
    propose=propose,
)
