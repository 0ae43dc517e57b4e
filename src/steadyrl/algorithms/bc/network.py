"""The network of a clone."""

from __future__ import annotations

import math

import torch

from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.common.own_networks import own_network, seen_box
from steadyrl.core.seeding import integer_seed
from steadyrl.nets.dense import DenseNetwork, Network
from steadyrl.nets.module import ModuleNetwork, dense_module, image_module

FEATURES = 128  # of the image encoder


def policy_network(
    config: BCConfig,
    shape: tuple[int, ...],
    components: int,
    *,
    images: bool,
    device: torch.device | str = "cpu",
) -> Network:
    """From observations of this shape to means, and to log deviations if those depend on them."""
    outputs = components * (2 if config.std == "state" else 1)
    extra = 0 if config.std == "state" else components
    seed = integer_seed(config.seed, "policy")
    if config.network is not None:
        space = seen_box(shape, images=images)
        return own_network(config, space, outputs, seed=seed, extra=extra, device=device)
    sizes = (FEATURES if images else math.prod(shape), *config.hidden_sizes, outputs)
    if not (images or config.dropout or config.layer_norm):
        return DenseNetwork(
            sizes,
            hidden=config.activation,
            extra=extra,
            seed=seed,
            device=device,
            precision=config.compute.precision,
        )
    head = dense_module(
        sizes,
        activation=config.activation,
        dropout=config.dropout,
        layer_norm=config.layer_norm,
        seed=seed,
    )
    if images:
        head = image_module(shape, head, FEATURES, seed + 1)
    return ModuleNetwork(head, extra=extra, device=device)
