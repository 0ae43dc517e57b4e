"""S013: PPO's clip range is far from what is known to work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting
from steadyrl.stability.usual import clip_settings

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    clips = clip_settings(config)
    extreme = {name: clip for name, clip in clips.items() if not 0.05 <= clip <= 0.5}
    if not extreme:
        return None
    said = ", ".join(f"{name} {clip:g} is outside 0.05 to 0.5" for name, clip in extreme.items())
    return Sighting(said, extreme)


CHECK = Check(
    id="S013",
    name="clip-range-extreme",
    severity="warning",
    concern="PPO's clip range is far from what is known to work.",
    why="Too wide and nothing holds the policy back, too narrow and nearly every sample is "
    "clipped.",
    remedy="Use 0.1 to 0.3.",
    check=check,
    traits=("clipped",),
)
