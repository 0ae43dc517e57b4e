"""A torch module behind the interface of our networks: for layers whose slopes are autograd's.

Used where the written-out networks have no form: dropout, layer normalisation, small encoders of
images. The weights still live in one flat vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class ModuleNetwork:
    """Any module that maps rows to rows; `learning` switches dropout on."""

    def __init__(
        self,
        module: nn.Module,
        *,
        extra: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        self.device = torch.device(device)
        self.module = module.to(self.device)
        weights = list(module.parameters())
        flat = torch.cat([weight.detach().flatten() for weight in weights])
        self.parameters = torch.cat((flat, torch.zeros(extra, device=self.device)))
        self.gradient = torch.zeros_like(self.parameters)
        self.extra = self.parameters[len(flat) :]
        self.extra_gradient = self.gradient[len(flat) :]
        self._weights, offset = weights, 0
        for weight in weights:
            count = weight.numel()
            weight.data = self.parameters[offset : offset + count].view(weight.shape)
            offset += count
        self._outputs = torch.empty(0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), as when acting: no dropout."""
        self.module.eval()
        with torch.no_grad():
            found: Tensor = self.module(inputs)
        return found

    def learn(self, inputs: Tensor, seed: int) -> Tensor:
        """The same with dropout drawn from the seed; the graph is kept for `backward`."""
        self.module.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(seed)
            self._outputs = self.module(inputs)
        return self._outputs.detach()

    def backward(self, output_gradient: Tensor) -> None:
        """Gradients for the last `learn`, into `gradient`."""
        found = torch.autograd.grad(self._outputs, self._weights, output_gradient)
        offset = 0
        for part in found:
            self.gradient[offset : offset + part.numel()].copy_(part.flatten())
            offset += part.numel()

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        self.parameters.copy_(torch.from_numpy(np.asarray(state["parameters"])))


def dense_module(
    sizes: Sequence[int], *, activation: str, dropout: float, layer_norm: bool, seed: int
) -> nn.Module:
    """Linear layers, each hidden one normalised, activated and thinned as asked."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            layers.append(nn.Linear(inputs, outputs))
            if index < len(sizes) - 2:
                if layer_norm:
                    layers.append(nn.LayerNorm(outputs))
                layers.append(nn.ReLU() if activation == "relu" else nn.Tanh())
                if dropout:
                    layers.append(nn.Dropout(dropout))
        return nn.Sequential(*layers)


class _Scaled(nn.Module):
    """Bytes to numbers of 0 to 1."""

    def forward(self, frames: Tensor) -> Tensor:
        """Divide by 255."""
        return frames.float() / 255.0


def image_module(frames: tuple[int, ...], head: nn.Module, features: int, seed: int) -> nn.Module:
    """A small encoder of pictures (channels, height, width) in front of a dense head."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = nn.Sequential(
            _Scaled(),
            nn.Conv2d(frames[0], 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * 16, features),
            nn.ReLU(),
        )
        return nn.Sequential(encoder, head)
