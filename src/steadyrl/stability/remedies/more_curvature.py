"""R336: Twice as many conjugate-gradient steps, and damping of at least 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.configs.run import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where there is such a solver."""
    iterations = getattr(config, "cg_iterations", None)
    if iterations is None:
        return None
    damping = max(0.1, getattr(config, "damping", 0.1))
    return {"cg_iterations": max(10, 2 * iterations), "damping": damping}


REMEDY = Remedy(
    id="R336",
    name="more-cg-iterations",
    effect="Twice as many conjugate-gradient steps, and damping of at least 0.1.",
    safety="automatic",
    restart=False,
    side_effects="More time per update.",
    propose=propose,
)
