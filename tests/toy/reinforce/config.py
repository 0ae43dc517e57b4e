"""Settings of REINFORCE."""

from __future__ import annotations

from typing import ClassVar, Literal

from steadyrl.core.config import setting
from steadyrl.core.run_config import ActingConfig, LayerSizes
from steadyrl.core.traits import Trait


class ReinforceConfig(ActingConfig):
    """Policy gradient without a critic."""

    traits: ClassVar[frozenset[Trait] | None] = frozenset({"acts"})

    algorithm: Literal["reinforce"] = setting("reinforce", "which trainer", changes="start")
    learning_rate: float = setting(1e-2, "Adam's step size", low=0.0)
    gamma: float = setting(0.99, "discount factor", low=0.0, high=1.0, changes="fork")
    episodes_per_update: int = setting(8, "whole episodes between two updates", low=1)
    hidden_sizes: LayerSizes = setting((32,), "units of the hidden layers", changes="start")
