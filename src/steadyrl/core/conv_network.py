"""NatureCNN (Mnih et al., 2015) with the interface of the dense network.

Convolutions leave the derivatives to autograd, but the weights still live in one flat vector, so
the optimiser, the norms and the trust region see no difference. Batches above CHUNK rows go through
in parts, so that memory stays bounded; a part's forward pass is repeated for its gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

CHUNK = 256
LAYERS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # channels, kernel, stride
FEATURES = 512


class ConvNetwork:
    """Frames of (channels, height, width), uint8, to a vector of outputs."""

    def __init__(
        self,
        frames: tuple[int, int, int],
        outputs: int,
        *,
        gain: float = 1.0,
        extra: int = 0,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        self.frames, self.outputs, self.device = frames, outputs, torch.device(device)
        self._shapes = _shapes(frames, outputs)
        initial = _orthogonal(self._shapes, seed, gain)
        self.parameters = torch.cat((initial, torch.zeros(extra))).to(self.device)
        self.gradient = torch.zeros_like(self.parameters)
        self.extra = self.parameters[len(initial) :]
        self.extra_gradient = self.gradient[len(initial) :]
        self._views = self._split(self.parameters)
        self._gradient_views = self._split(self.gradient)
        self._inputs = torch.empty(0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs); nothing but the inputs is kept."""
        self._inputs = inputs
        with torch.no_grad():
            return torch.cat([self._pass(self._views, part) for part in torch.split(inputs, CHUNK)])

    def backward(self, output_gradient: Tensor) -> None:
        """Gradients for the last `forward`, into `gradient`."""
        leaves = [view.detach().requires_grad_() for view in self._views]
        sums: list[Tensor] | None = None
        parts = zip(
            torch.split(self._inputs, CHUNK), torch.split(output_gradient, CHUNK), strict=True
        )
        for inputs, slopes in parts:
            with torch.enable_grad():
                outputs = self._pass(leaves, inputs)
            found = torch.autograd.grad(outputs, leaves, slopes)
            if sums is None:
                sums = list(found)
            else:
                for total, part in zip(sums, found, strict=True):
                    total.add_(part)
        for view, total in zip(self._gradient_views, sums or [], strict=True):
            view.copy_(total)

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        tangents = tuple(self._split(direction))
        parts = []
        for inputs in torch.split(self._inputs, CHUNK):

            def outputs(*views: Tensor, inputs: Tensor = inputs) -> Tensor:
                return self._pass(views, inputs)

            parts.append(torch.func.jvp(outputs, tuple(self._views), tangents)[1])
        return torch.cat(parts)

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations, without keeping anything."""
        with torch.no_grad():
            found = self._pass(self._views, torch.from_numpy(observations).to(self.device))
        return found.cpu().numpy()

    def layer_gradients(self) -> list[Tensor]:
        """Each layer's part (weights and biases) of the flat gradient, first layer first."""
        lengths = [math.prod(shape) for shape in self._shapes]
        pairs = [a + b for a, b in zip(lengths[::2], lengths[1::2], strict=True)]
        return list(torch.split(self.gradient[: sum(pairs)], pairs))

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        self.parameters.copy_(torch.from_numpy(np.asarray(state["parameters"])))

    def _pass(self, views: Any, frames: Tensor) -> Tensor:
        current = frames.float().div(255.0)
        for index, (_, _, stride) in enumerate(LAYERS):
            weight, bias = views[2 * index], views[2 * index + 1]
            current = functional.relu(functional.conv2d(current, weight, bias, stride=stride))
        at = 2 * len(LAYERS)
        current = functional.relu(functional.linear(current.flatten(1), views[at], views[at + 1]))
        return functional.linear(current, views[at + 2], views[at + 3])

    def _split(self, flat: Tensor) -> list[Tensor]:
        views, offset = [], 0
        for shape in self._shapes:
            length = math.prod(shape)
            views.append(flat[offset : offset + length].view(shape))
            offset += length
        return views


def _shapes(frames: tuple[int, int, int], outputs: int) -> list[tuple[int, ...]]:
    """Weights and biases, layer by layer."""
    channels, height, width = frames
    shapes: list[tuple[int, ...]] = []
    for filters, kernel, stride in LAYERS:
        shapes += [(filters, channels, kernel, kernel), (filters,)]
        channels = filters
        height, width = ((side - kernel) // stride + 1 for side in (height, width))
    flat = channels * height * width
    return [*shapes, (FEATURES, flat), (FEATURES,), (outputs, FEATURES), (outputs,)]


def _orthogonal(shapes: list[tuple[int, ...]], seed: int, gain: float) -> Tensor:
    """Orthogonal weights, gain sqrt(2) and `gain` for the last layer; biases 0."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for index in range(0, len(shapes), 2):
        weight = torch.empty(shapes[index])
        scale = gain if index == len(shapes) - 2 else math.sqrt(2.0)
        torch.nn.init.orthogonal_(weight, gain=scale, generator=generator)
        parts += [weight.flatten(), torch.zeros(shapes[index + 1])]
    return torch.cat(parts)
