"""A pytest plugin: every network begins with slightly other weights, as on another processor.

    STEADYRL_PERTURB=1 python -m pytest -p tests.numerics.perturb

Each number stands for one processor that nobody has. Equal networks stay equal within a run, so
laws (exact resume, equal seeds) hold; only the digits, and what training makes of them, change.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from steadyrl.nets import convolutional, dense

SCALE = 1e-6  # about ten roundings of a float32; training multiplies it soon enough


def disturbed(weights: torch.Tensor) -> torch.Tensor:
    """The weights with other last digits, always the same ones for the same number and shape."""
    generator = np.random.default_rng([int(os.environ["STEADYRL_PERTURB"]), weights.numel()])
    factors = 1.0 + SCALE * generator.standard_normal(tuple(weights.shape))
    with torch.no_grad():
        return weights.mul_(torch.from_numpy(factors).to(weights))


def _after(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(function)
    def draw(*arguments: Any, **options: Any) -> torch.Tensor:
        return disturbed(function(*arguments, **options))

    return draw


def pytest_configure() -> None:
    """Disturb the weights of our networks, and of other libraries' layers."""
    places: list[tuple[Any, str]] = [
        (dense, "uniform"),
        (dense, "orthogonal"),
        (convolutional, "orthogonal"),
        (nn.init, "orthogonal_"),
    ]
    for module, name in places:
        setattr(module, name, _after(getattr(module, name)))
    for layer in (nn.Linear, nn.Conv2d):
        _disturb_layer(layer)


def _disturb_layer(layer: type[nn.Linear] | type[nn.Conv2d]) -> None:
    reset = layer.reset_parameters

    def reset_parameters(self: Any) -> None:
        reset(self)
        disturbed(self.weight)

    layer.reset_parameters = reset_parameters  # type: ignore[method-assign]
