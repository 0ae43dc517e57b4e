"""R393: what must be saved beside the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steadyrl.stability.rules import Remedy
from steadyrl.stability.window import Window

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def propose(config: RunConfig, window: Window) -> Mapping[str, Any] | None:
    """No setting helps."""
    del config, window
    return None


REMEDY = Remedy(
    id="R393",
    name="restore-everything",
    effect="Save and load all that training depends on: optimiser, observation and reward "
    "statistics (VecNormalize.save), replay buffer (save_replay_buffer), adaptive coefficients; go "
    "on with reset_num_timesteps=False, so that schedules do not begin anew, from the last point "
    "before the restart.",
    safety="advice",
    side_effects="Larger checkpoints.",
    propose=propose,
)
