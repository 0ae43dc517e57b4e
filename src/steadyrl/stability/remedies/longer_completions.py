"""R361: answers that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Twice the room."""
    del window
    return {"problems.max_new_tokens": 2 * config.value_of("problems.max_new_tokens")}


REMEDY = Remedy(
    id="R361",
    name="longer-completions",
    effect="Twice the room for an answer (problems.max_new_tokens; TRL: max_completion_length), or "
    "shorten the task; make sure that the tokenizer has an end token of its own. TRL can leave cut "
    "completions out (mask_truncated_completions).",
    safety="on_request",
    restart=True,
    side_effects="More time and memory per update.",
    propose=propose,
    needs=("problems.max_new_tokens",),
    traits=("language",),
)
