"""R360: rewards that teach nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting helps."""
    del config, window
    return None


REMEDY = Remedy(
    id="R360",
    name="better-prompts",
    effect="Leave out prompts that all completions solve or none does, grade the reward "
    "(partial credit), and print rewards beside completions to see that the function "
    "works.",
    safety="advice",
    side_effects="None known.",
    propose=propose,
)
