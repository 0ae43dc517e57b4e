"""R362: a model that runs away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """The settings are another program's."""
    del config, window
    return None


REMEDY = Remedy(
    id="R362",
    name="stay-near-the-reference",
    effect="Divide the learning rate by ten, or set beta to 0.01 to tie the model to its "
    "reference; go on from the last good checkpoint.",
    safety="advice",
    side_effects="None known.",
    propose=propose,
)
