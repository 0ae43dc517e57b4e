"""S011: Many updates per environment step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    updates, every = config.value_of("updates_per_training"), config.value_of("train_every")
    if updates / every <= 4:
        return None
    rate = updates / every
    return Sighting(f"{rate:.0f} updates per environment step", {"updates_per_env_step": rate})


CHECK = Check(
    id="S011",
    name="updates-many",
    severity="warning",
    concern="Many updates per environment step.",
    why="The critic memorises its buffer; without resets or regularisation it may then diverge.",
    remedy="Use one update per step, or twin critics and at most four.",
    check=check,
    needs=("updates_per_training", "train_every"),
)
