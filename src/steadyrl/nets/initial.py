"""First weights of networks, flat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

Gain = float | Sequence[float]  # of all of the last layer's outputs, or of each


def orthogonal(shapes: Sequence[tuple[int, ...]], seed: int, gain: Gain) -> Tensor:
    """Orthogonal weights, gain sqrt(2) and `gain` for the last layer; biases 0, as PPO likes it."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for index, shape in enumerate(shapes):
        weight = torch.empty(shape)
        scale = gain if index == len(shapes) - 1 else math.sqrt(2.0)
        torch.nn.init.orthogonal_(weight, generator=generator)
        weight *= scale if isinstance(scale, float) else torch.tensor(scale)[:, None]
        parts += [weight.flatten(), torch.zeros(shape[0])]
    return torch.cat(parts)


def uniform(sizes: Sequence[int], seed: int) -> Tensor:
    """Uniform in ±1/sqrt(inputs), weights and biases: torch's own default for linear layers."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for inputs, outputs in pairwise(sizes):
        bound = 1.0 / math.sqrt(inputs)
        values = torch.rand(outputs * (inputs + 1), generator=generator)
        parts.append(values * (2.0 * bound) - bound)
    return torch.cat(parts)
