"""R361: answers that do not fit."""

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
    id="R361",
    name="longer-completions",
    effect="Raise max_completion_length, or shorten the task; make sure that the tokenizer "
    "has an end token of its own and that cut completions are masked "
    "(mask_truncated_completions).",
    safety="advice",
    side_effects="None known.",
    propose=propose,
)
