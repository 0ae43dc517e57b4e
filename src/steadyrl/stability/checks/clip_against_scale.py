"""S008: Gradients are clipped but rewards are not scaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    clip, scale = config.value_of("gradient_clip"), config.value_of("reward_scale", 1.0)
    cost = config.value_of("environment.settings.cost_scale")
    if clip is None or not isinstance(cost, float | int) or cost * scale < 100:
        return None
    message = f"gradient_clip {clip:g} with rewards of about {cost * scale:g}"
    return Sighting(message, {"gradient_clip": clip, "reward": cost * scale})


CHECK = Check(
    id="S008",
    name="clip-against-scale",
    severity="note",
    concern="Gradients are clipped but rewards are not scaled.",
    why="If rewards are in the thousands every gradient is clipped and the clip is the step size.",
    remedy="Scale rewards first (reward_scale), then clip at about ten times the usual norm.",
    check=check,
    needs=("gradient_clip", "environment.settings"),
)
