"""The actor of a DDPG checkpoint, apart from its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Box

from steadyrl.algorithms.common.acting import Acting, Stretched, inputs_from, size_of
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.environments.spaces import Spaces
from steadyrl.nets.dense import DenseNetwork


def acting(config: DDPGConfig, spaces: Spaces, state: Mapping[str, Any]) -> Acting:
    """What a checkpoint's learner would do."""
    parts, space = state["parts"], spaces.action
    assert isinstance(space, Box)
    network = DenseNetwork(
        (size_of(spaces.seen), *config.hidden_sizes, size_of(space)), output="tanh"
    )
    network.load_state_dict(parts["actor"])
    moments = parts["moments"] if config.normalize_observations else None
    return Acting(inputs_from(moments), network, Stretched(space, config.noise_std))
