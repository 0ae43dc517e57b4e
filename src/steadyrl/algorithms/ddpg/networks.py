"""DDPG's networks: dense, or somebody's own."""

from __future__ import annotations

import torch

from steadyrl.algorithms.common.own_networks import own_network, seen_box
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.seeding import integer_seed
from steadyrl.nets.compiled import relu_network
from steadyrl.nets.dense import DenseNetwork, Precision
from steadyrl.nets.own import OwnNetwork

AnyNetwork = DenseNetwork | OwnNetwork


def make_actor(
    config: DDPGConfig,
    shape: tuple[int, ...],
    actions: int,
    *,
    device: torch.device | str = "cpu",
    precision: Precision = "fp32",
) -> AnyNetwork:
    """From observations of this shape to actions of -1..1."""
    seed = integer_seed(config.seed, "actor")
    if config.network is not None:
        space = seen_box(shape)
        return own_network(config, space, actions, seed=seed, squash=True, device=device)
    size = torch.Size(shape).numel()
    sizes = (size, *config.hidden_sizes, actions)
    return relu_network(
        sizes,
        compiled=config.compiled,
        output="tanh",
        seed=seed,
        device=device,
        precision=precision,
    )


def make_critic(
    config: DDPGConfig,
    inputs: int,
    name: str,
    *,
    device: torch.device | str = "cpu",
    precision: Precision = "fp32",
) -> AnyNetwork:
    """From an observation and an action, as one row, to a value."""
    seed = integer_seed(config.seed, name)
    if config.network is not None:
        return own_network(config, seen_box((inputs,)), 1, seed=seed, device=device)
    sizes = (inputs, *config.hidden_sizes, 1)
    return relu_network(
        sizes, compiled=config.compiled, seed=seed, device=device, precision=precision
    )
