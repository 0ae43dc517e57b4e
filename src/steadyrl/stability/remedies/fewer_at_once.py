"""R371: Sample half as many completions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Half of them, but not fewer than one prompt has."""
    del window
    held, least = config.value_of("sample_at_once"), config.value_of("samples_per_prompt")
    return {"sample_at_once": max(held // 2, least)} if held > least else None


REMEDY = Remedy(
    id="R371",
    name="fewer-sampled-at-once",
    effect="Sample half as many completions side by side; what they say is the same.",
    safety="on_request",
    side_effects="Slower sampling.",
    propose=propose,
    needs=("sample_at_once", "samples_per_prompt"),
    traits=("language",),
)
