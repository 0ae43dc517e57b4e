"""R363: updates that rest on too few completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

ENOUGH = 512


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """As many prompts as make 512 completions; memory stays as it was, by micro-batches."""
    del window
    before, each = config.samples_per_update, config.value_of("samples_per_prompt")
    prompts = -(-ENOUGH // each)
    if before >= ENOUGH:
        return None
    changes = {"prompts_per_update": prompts}
    minibatch = config.value_of("minibatch_size")
    if minibatch is not None:  # as many optimiser steps as before, each on more
        changes["minibatch_size"] = prompts * each // (before // minibatch)
        if prompts * each % changes["minibatch_size"]:
            changes["minibatch_size"] = prompts * each
    if config.value_of("micro_batch_size") is None:
        changes["micro_batch_size"] = minibatch or before
    return changes


REMEDY = Remedy(
    id="R363",
    name="larger-batch",
    effect="512 completions per update, gathered in micro-batches of the size that fits now: the "
    "gradient is that of the whole batch.",
    safety="automatic",
    side_effects="Fewer updates in the same budget of samples.",
    propose=propose,
    needs=("prompts_per_update", "samples_per_prompt", "minibatch_size", "micro_batch_size"),
    traits=("language",),
)
