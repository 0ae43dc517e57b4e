"""The networks of PPO and TRPO: dense, convolutional, or somebody's own."""

from __future__ import annotations

import torch

from steadyrl.algorithms.common.own_networks import own_network, seen_box
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.layout import Layout
from steadyrl.core.run_config import ComputeConfig
from steadyrl.core.seeding import integer_seed
from steadyrl.nets.convolutional import ConvNetwork
from steadyrl.nets.dense import ActingNetwork, DenseNetwork


def make_network(
    config: OnPolicyConfig,
    layout: Layout,
    outputs: int,
    name: str,
    *,
    gain: float = 1.0,
    extra: int = 0,
    device: torch.device | str = "cpu",
    compute: ComputeConfig | None = None,
) -> ActingNetwork:
    """From what is seen to so many outputs, with `extra` free parameters."""
    seed, precision = integer_seed(config.seed, name), (compute or config.compute).precision
    if config.network is not None:
        space = seen_box(layout.given, images=layout.images)
        return own_network(config, space, outputs, seed=seed, extra=extra, device=device)
    if layout.images:
        return ConvNetwork(
            layout.shape,
            outputs,
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
