"""How a learning rate rises and falls, the same for every trainer that takes steps by Adam."""

from __future__ import annotations

import math
from typing import Literal

from steadyrl.core.config import setting
from steadyrl.core.run_config import RunConfig


class ScheduledRate(RunConfig):
    """Settings of a learning rate that need not stay what it is."""

    learning_rate_schedule: Literal["constant", "linear", "cosine", "plateau"] = setting(
        "constant", "linear and cosine fall to 0 at the end, plateau when nothing improves"
    )
    plateau_patience: int = setting(
        5, "of plateau: evaluations without a new best before the rate falls", low=1
    )
    plateau_ratio: float = setting(0.5, "of plateau: what it falls to", above=0.0, below=1.0)
    plateau_floor: float = setting(1e-8, "of plateau: the lowest rate", above=0.0)
    warm_up: int = setting(0, "updates over which the rate rises to its value", low=0)

    def pace_at(self, update: int, progress: float) -> float:
        """Which share of its value the rate has, at this update, this share of the budget used."""
        if update < self.warm_up:
            return (update + 1) / self.warm_up
        if self.learning_rate_schedule == "linear":
            return max(0.0, 1.0 - progress)
        if self.learning_rate_schedule == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))
        return 1.0
