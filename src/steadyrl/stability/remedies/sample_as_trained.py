"""R365: Sample from the distribution that is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """What is not 1 becomes 1."""
    del window
    names = ("temperature", "top_p")
    return {name: 1.0 for name in names if config.value_of(name) != 1.0} or None


REMEDY = Remedy(
    id="R365",
    name="sample-as-trained",
    effect="A temperature of 1 and a top_p of 1 while training.",
    safety="automatic",
    side_effects="Completions vary more.",
    propose=propose,
    needs=("temperature", "top_p"),
    traits=("language",),
)
