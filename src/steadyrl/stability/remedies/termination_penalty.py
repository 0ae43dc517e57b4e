"""R306: Make an early end cost what living on would have cost: a step's cost over 1 - gamma."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.maths.horizon import horizon
from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """For our residual-control task, whose penalty is in units of one step's cost."""
    settings, gamma = config.value_of("environment.settings"), config.value_of("gamma")
    if not config.task.endswith("ResidualControl-v0") or gamma >= 1.0:
        return None  # without a discount no penalty is as dear as living on
    penalty = round(0.75 * horizon(gamma), 1)
    current = settings.get("termination_penalty", 0.0)
    if isinstance(current, float | int) and current >= penalty:
        return None
    changes: dict[str, Any] = {"environment.settings.termination_penalty": penalty}
    # Without this the penalty itself becomes a reward of hundreds of thousands.
    cost = float(settings.get("cost_scale") or 2000.0)
    if cost > 2.0 and config.value_of("reward_scale") == 1.0:
        changes["reward_scale"] = float(f"{2.0 / cost:.1g}")
    return changes


REMEDY = Remedy(
    id="R306",
    name="termination-penalty",
    effect="Make an early end cost what living on would have cost: a step's cost over 1 - gamma.",
    safety="on_request",
    restart=True,
    side_effects="Changes the task: returns before and after are not comparable, lengths are.",
    propose=propose,
    needs=("environment.settings", "gamma"),
    traits=("acts",),
)
