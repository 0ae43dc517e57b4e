"""S020: Few completions per update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    samples = config.samples_per_update
    if samples >= 256:
        return None
    return Sighting(
        f"an update rests on {samples} completions",
        {"samples": samples},
        severity="warning" if samples <= 64 else "note",
    )


CHECK = Check(
    id="S020",
    name="completions-few",
    severity="warning",
    concern="Few completions per update.",
    why="Their gradient is mostly noise: rewards dip, and settings must be tuned finely to survive "
    "it.",
    remedy="Raise prompts_per_update to 256 completions or more; micro_batch_size keeps the memory "
    "as it is. 'steadyrl noise' measures how many are needed.",
    check=check,
    needs=("prompts_per_update", "samples_per_prompt"),
    traits=("language",),
)
