"""R336: Twice as many conjugate-gradient steps, and damping of at least 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there is such a solver."""
    iterations = config.value_of("cg_iterations")
    changes: dict[str, Any] = {"cg_iterations": max(10, 2 * iterations)}
    if config.value_of("damping") < 0.1:
        changes["damping"] = 0.1
    return changes


REMEDY = Remedy(
    id="R336",
    name="more-cg-iterations",
    effect="Twice as many conjugate-gradient steps, and damping of at least 0.1.",
    safety="automatic",
    restart=False,
    side_effects="More time per update.",
    propose=propose,
    needs=("cg_iterations", "damping"),
)
