"""R303: Scale rewards so that TD targets have a spread of about ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.core.run_config import RunConfig
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """The present scale divided by a tenth of the measured target scale."""
    scale = config.value_of("reward_scale")
    spread = max(window.latest("td.target_std", 0.0), abs(window.latest("q.mean", 0.0)))
    largest = window.highest("rollout.reward_abs_max")
    by_target = 10.0 / spread if spread > 10.0 else 1.0
    by_reward = 1.0 / (largest * scale) if largest * scale > 1.0 else 1.0
    factor = min(by_target, by_reward)
    return {"reward_scale": float(f"{scale * factor:.1g}")} if factor < 1.0 else None


REMEDY = Remedy(
    id="R303",
    name="scale-rewards",
    effect="Scale rewards so that TD targets have a spread of about ten.",
    safety="on_request",
    restart=True,
    side_effects="Losses and Q-values are in other units afterwards; reported returns are not.",
    propose=propose,
    needs=("reward_scale",),
    traits=("acts",),
)
