"""R343: Weigh likelihoods by sigma (beta-NLL, beta 0.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """Where the plain likelihood is minimised."""
    return {"objective": "beta_nll"} if config.value_of("objective") == "nll" else None


REMEDY = Remedy(
    id="R343",
    name="beta-likelihood",
    effect="Weigh likelihoods by sigma (beta-NLL, beta 0.5).",
    safety="on_request",
    restart=True,
    side_effects="Deviations are fitted less eagerly.",
    propose=propose,
    needs=("objective",),
    traits=("cloning",),
)
