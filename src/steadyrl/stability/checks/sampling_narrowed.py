"""S021: Tokens are sampled from another distribution than is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    names = ("temperature", "top_p")
    other = {name: value for name in names if (value := config.value_of(name)) != 1.0}
    if not other:
        return None
    said = " and ".join(f"{name} {value:g}" for name, value in other.items())
    return Sighting(f"{said}, and 1 is what is trained", other)


CHECK = Check(
    id="S021",
    name="sampling-narrowed",
    severity="warning",
    concern="Tokens are sampled from another distribution than is trained.",
    why="Advantages and ratios are about the policy itself; what is sampled with another "
    "temperature or top_p is not its doing, and every update leans to one side.",
    remedy="Use temperature 1 and top_p 1 while training.",
    check=check,
    needs=("temperature", "top_p"),
    traits=("language",),
)
