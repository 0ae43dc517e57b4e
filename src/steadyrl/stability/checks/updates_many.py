"""S011: Many updates per environment step."""

from __future__ import annotations

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Check, Sighting


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    updates, every = (
        getattr(config, "updates_per_training", None),
        getattr(config, "train_every", 1),
    )
    if updates is None or updates / every <= 4:
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
)
