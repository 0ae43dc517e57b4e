"""R303: Scale rewards so that TD targets have a spread of about ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """The present scale divided by a tenth of the measured target scale."""
    scale = config.value_of("reward_scale")
    # Numbers come first: max() passes over a NaN that is not, and what was not measured is one.
    spread = max(10.0, window.latest("td.target_std"), abs(window.latest("q.mean")))
    largest = max(1.0, scale * window.highest("rollout.reward_abs_max"))
    factor = min(10.0 / spread, 1.0 / largest)
    return {"reward_scale": float(f"{scale * factor:.1g}")} if factor < 1.0 else None


REMEDY = Remedy(
    id="R303",
    name="scale-rewards",
    effect="Scale rewards so that TD targets have a spread of about ten.",
    safety="automatic",
    restart=True,
    side_effects="Losses and Q-values are in other units afterwards; reported returns are not.",
    propose=propose,
    needs=("reward_scale",),
    traits=("acts",),
)
