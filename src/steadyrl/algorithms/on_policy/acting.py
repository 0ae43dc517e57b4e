"""The policy of a PPO or TRPO checkpoint, apart from its trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.algorithms.common.acting import Acting, Drawn, inputs_from
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.layout import layout_of
from steadyrl.algorithms.on_policy.networks import make_pair
from steadyrl.core.run_config import ComputeConfig
from steadyrl.environments.spaces import Spaces
from steadyrl.maths.policies import policy_for


def acting(config: OnPolicyConfig, spaces: Spaces, state: Mapping[str, Any]) -> Acting:
    """What a checkpoint's learner would do."""
    parts, layout = state["parts"], layout_of(spaces.seen)
    policy = policy_for(spaces.action, config.environment.id)
    # Always fp32: what was rounded for speed in training need not be when it acts.
    network = make_pair(config, layout, policy, compute=ComputeConfig()).actor
    network.load_state_dict(parts["actor"])
    moments = parts["moments"] if config.normalize_observations else None
    inputs = inputs_from(moments, frames=layout.images, colours_last=layout.colours_last)
    return Acting(inputs, network, Drawn(policy, network.extra.numpy().copy()))
