"""Our networks as ordinary torch modules: for export, where written-out passes have no place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from steadyrl.nets.convolutional import BRIGHTEST, ConvNetwork
from steadyrl.nets.dense import DenseNetwork, Network
from steadyrl.nets.module import ModuleNetwork
from steadyrl.nets.own import OwnModule, OwnNetwork
from steadyrl.nets.pair import PolicyView

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


def as_module(network: Network) -> nn.Module:
    """A module with copies of the network's weights, which puts out the same."""
    if isinstance(network, DenseNetwork):
        return _dense(network)
    if isinstance(network, ConvNetwork):
        return _convolutional(network)
    if isinstance(network, OwnNetwork):
        return OwnModule(network).eval()
    if isinstance(network, PolicyView):
        return nn.Sequential(as_module(network.whole), _AllButLast())
    if isinstance(network, ModuleNetwork):
        return network.module.eval()
    raise TypeError(f"{type(network).__name__} has no form as a module")


def _dense(network: DenseNetwork) -> nn.Module:
    layers: list[nn.Module] = []
    for weight, bias in network.layers():
        layers += [_filled(nn.Linear(weight.shape[1], weight.shape[0]), weight, bias)]
        layers += [ACTIVATIONS[network.hidden]()]
    layers.pop()
    if network.output == "tanh":
        layers.append(nn.Tanh())
    return nn.Sequential(*layers)


class _Pixels(nn.Module):
    """Bytes to numbers of 0 to 1."""

    def forward(self, frames: Tensor) -> Tensor:
        """Divide by the brightest."""
        return frames.float() / BRIGHTEST


class _AllButLast(nn.Module):
    """A policy's outputs, without the value that ends the row."""

    def forward(self, outputs: Tensor) -> Tensor:
        """Cut it off."""
        return outputs[:, :-1]


def _convolutional(network: ConvNetwork) -> nn.Module:
    weights = network.layers()
    layers: list[nn.Module] = [_Pixels()]
    for index, (filters, kernel, stride) in enumerate(network.architecture.layers):
        weight, bias = weights[2 * index : 2 * index + 2]
        layers += [_filled(nn.Conv2d(weight.shape[1], filters, kernel, stride), weight, bias)]
        layers += [nn.ReLU()]
    layers.append(nn.Flatten())
    layers += [*_linears(weights[network.architecture.dense :])]
    return nn.Sequential(*layers)


def _linears(weights: Sequence[Tensor]) -> list[nn.Module]:
    first, first_bias, last, last_bias = weights
    return [
        _filled(nn.Linear(first.shape[1], first.shape[0]), first, first_bias),
        nn.ReLU(),
        _filled(nn.Linear(last.shape[1], last.shape[0]), last, last_bias),
    ]


def _filled(layer: nn.Linear | nn.Conv2d, weight: Tensor, bias: Tensor) -> nn.Module:
    assert layer.bias is not None
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer
