"""The networks of PPO and TRPO: dense, convolutional, or somebody's own."""

from __future__ import annotations

import torch

from steadyrl.algorithms.common.own_networks import own_network, seen_box
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.layout import Layout
from steadyrl.core.run_config import ComputeConfig
from steadyrl.core.seeding import integer_seed
from steadyrl.maths.policies import Policy
from steadyrl.nets.convolutional import ARCHITECTURES, ConvNetwork
from steadyrl.nets.dense import ActingNetwork, DenseNetwork
from steadyrl.nets.initial import Gain
from steadyrl.nets.pair import Pair, Separate, Shared

TIMID = 0.01  # of a policy's outputs at first: all actions about as likely
VALUE = 1.0


def make_pair(
    config: OnPolicyConfig,
    layout: Layout,
    policy: Policy,
    *,
    device: torch.device | str = "cpu",
    compute: ComputeConfig | None = None,
) -> Pair:
    """The policy's network and the critic's, or one for both."""

    def made(outputs: int, name: str, gain: Gain, extra: int) -> ActingNetwork:
        return make_network(
            config,
            layout,
            outputs,
            name,
            gain=gain,
            extra=extra,
            device=device,
            compute=compute or config.compute,
        )

    outputs, extra = policy.outputs, policy.extra
    if config.shares_layers:
        gains = (*[TIMID] * outputs, VALUE)
        return Shared(made(outputs + 1, "actor", gains, extra), outputs)
    return Separate(made(outputs, "actor", TIMID, extra), made(1, "critic", VALUE, 0))


def make_network(
    config: OnPolicyConfig,
    layout: Layout,
    outputs: int,
    name: str,
    *,
    gain: Gain,
    extra: int,
    device: torch.device | str,
    compute: ComputeConfig,
) -> ActingNetwork:
    """From what is seen to so many outputs, with `extra` free parameters."""
    seed, precision = integer_seed(config.seed, name), compute.precision
    if config.network is not None:
        space = seen_box(layout.given, images=layout.images)
        return own_network(config, space, outputs, seed=seed, extra=extra, device=device)
    if layout.images:
        return ConvNetwork(
            layout.shape,
            outputs,
            architecture=ARCHITECTURES[config.convolutions],
            gain=gain,
            extra=extra,
            seed=seed,
            device=device,
            precision=precision,
        )
    return DenseNetwork(
        (*layout.shape, *config.hidden_sizes, outputs),
        hidden=config.activation,
        gain=gain,
        extra=extra,
        seed=seed,
        device=device,
        precision=precision,
    )
