"""R395: evaluate what was trained."""

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
    id="R395",
    name="evaluate-as-trained",
    effect="Evaluate in the environment that was trained in: the same wrappers, and the training "
    "normaliser's statistics (in Stable-Baselines3 sync_envs_normalization).",
    safety="advice",
    restart=False,
    side_effects="None.",
    propose=propose,
)
