"""S025: Replay far beyond what anybody recommends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

MOST = {"replay.reuse": 10, "replay.staleness": 500, "replay.ratio_bound": 10.0}


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    if not config.value_of("replay.enabled"):
        return None
    for name, most in MOST.items():
        value = config.value_of(name)
        if value > most:
            return Sighting(f"{name} {value:g} is more than {most:g}", {name: value})
    return None


CHECK = Check(
    id="S025",
    name="replay-bold",
    severity="warning",
    concern="Old samples are used very often, or when they are very old.",
    why="PPO's clip and weights bear a policy that has moved a little, not one that has become "
    "another.",
    remedy="Use replay.reuse 2 to 8, replay.staleness 50 to 200, replay.ratio_bound 1 to 5.",
    check=check,
    needs=("replay.enabled",),
)
