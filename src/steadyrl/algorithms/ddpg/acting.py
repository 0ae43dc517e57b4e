"""The actor of a DDPG checkpoint, apart from its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Box

from steadyrl.algorithms.common.acting import Acting, Stretched, inputs_from, size_of
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.networks import make_actor
from steadyrl.environments.spaces import Spaces


def acting(config: DDPGConfig, spaces: Spaces, state: Mapping[str, Any]) -> Acting:
    """What a checkpoint's learner would do."""
    parts, space = state["parts"], spaces.action
    assert isinstance(space, Box)
    network = make_actor(config, spaces.seen.shape or (1,), size_of(space))
    network.load_state_dict(parts["actor"])
    moments = parts["moments"] if config.normalize_observations else None
    return Acting(inputs_from(moments), network, Stretched(space, config.noise_std))
