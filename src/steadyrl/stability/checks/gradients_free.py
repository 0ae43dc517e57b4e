"""S023: Gradients of a language model are not clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Read from the config alone."""
    clip = config.value_of("gradient_clip")
    if clip is not None and clip <= 10.0:
        return None
    said = "null" if clip is None else f"{clip:g}"
    return Sighting(f"gradient_clip is {said}", {})


CHECK = Check(
    id="S023",
    name="gradients-free",
    severity="note",
    concern="Gradients of a language model are not clipped.",
    why="One unlucky batch can undo what many updates have learned.",
    remedy="Use gradient_clip 1.",
    check=check,
    needs=("gradient_clip",),
    traits=("language",),
)
