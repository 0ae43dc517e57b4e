"""Networks of one's own, as `network: module:function` names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import nn

from steadyrl.core.errors import ConfigError
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.own import imported, told_fault
from steadyrl.nets.own import OwnNetwork


def own_network(
    config: RunConfig,
    space: Any,
    outputs: int,
    *,
    seed: int,
    extra: int = 0,
    squash: bool = False,
    device: torch.device | str = "cpu",
) -> OwnNetwork:
    """The module that the config's function makes for this space, held to what it promises."""
    place: str = config.value_of("network")
    if config.compute.precision != "fp32":
        raise ConfigError("compute.precision = 'bf16' is for our own networks; use fp32.")
    make = imported(place, config.value_of("environment.folder"), setting="network")
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = make(space, outputs)
    except Exception as error:
        doing = f"network = '{place}': calling it with ({space}, {outputs})"
        raise ConfigError(told_fault(error, doing)) from error
    if not isinstance(module, nn.Module):
        raise ConfigError(
            f"network = '{place}' made a {type(module).__name__}: it must be a function from "
            "(space, number of outputs) to a torch.nn.Module."
        )
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    if not trained or any(weight.dtype != torch.float32 for weight in trained):
        raise ConfigError(f"network = '{place}': it needs weights to train, all of float32.")
    network = OwnNetwork(module, space.shape, extra=extra, squash=squash, device=device)
    _try_out(network, place, space, outputs)
    return network


def _try_out(network: OwnNetwork, place: str, space: Box, outputs: int) -> None:
    rows = torch.zeros((2, *space.shape), dtype=_kind(space), device=network.device)
    try:
        found = network.forward(rows)
    except Exception as error:
        raise ConfigError(
            told_fault(error, f"network = '{place}': a pass over 2 rows of {space.shape}")
        ) from error
    if tuple(found.shape) != (2, outputs):
        raise ConfigError(
            f"network = '{place}': 2 rows of {space.shape} became {tuple(found.shape)}; they must "
            f"become (2, {outputs})."
        )


def seen_box(shape: tuple[int, ...], *, images: bool = False) -> Box:
    """What a network sees: bytes with channels first, or float32."""
    return Box(0, 255, shape, np.uint8) if images else Box(-np.inf, np.inf, shape, np.float32)


def _kind(space: Box) -> torch.dtype:
    return torch.uint8 if space.dtype == np.uint8 else torch.float32
