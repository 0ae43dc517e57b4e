"""Convolutions for frames with the interface of the dense network, passes written out.

All weights live in one flat vector, so the optimiser, the norms and the trust region see no
difference. Batches go through in parts of CHUNK rows, channels last, the fastest form measured
on CPUs (docs/decisions.md). Activations of up to KEPT rows are kept, so that a Fisher product costs
one tangent and one backward pass; of larger batches only the inputs are kept, and memory stays
bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from steadyrl.nets import products
from steadyrl.nets.dense import Precision
from steadyrl.nets.initial import Gain, orthogonal

CHUNK = 64
KEPT = 4096  # rows; 86 kB each
SMALLEST = 36  # side of a frame that NATURE's three layers can take in
BRIGHTEST = 255.0


@dataclass(frozen=True)
class Architecture:
    """Convolutions, then a layer of features."""

    layers: tuple[tuple[int, int, int], ...]  # channels, kernel, stride
    features: int

    @property
    def dense(self) -> int:
        """Where the fully connected layers' weights begin."""
        return 2 * len(self.layers)


NATURE = Architecture(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 512)  # Mnih et al., 2015
LIGHT = Architecture(((16, 8, 4), (32, 4, 2)), 256)  # Mnih et al., 2013 and 2016: a third of it
ARCHITECTURES = {"nature": NATURE, "light": LIGHT}

# What the layers put out for one part, hidden ones after their ReLU.
Activations = list[Tensor]


class ConvNetwork:
    """Frames of (channels, height, width), uint8, to a vector of outputs."""

    def __init__(
        self,
        frames: tuple[int, ...],
        outputs: int,
        *,
        architecture: Architecture = NATURE,
        gain: Gain = 1.0,
        extra: int = 0,
        seed: int = 0,
        device: torch.device | str = "cpu",
        precision: Precision = "fp32",
    ) -> None:
        self.frames, self.outputs, self.device = frames, outputs, torch.device(device)
        self._kind = torch.bfloat16 if precision == "bf16" else torch.float32
        self.architecture = architecture
        self._shapes = _shapes(architecture, frames, outputs)
        initial = orthogonal(self._shapes[::2], seed, gain)
        self.parameters = torch.cat((initial, torch.zeros(extra))).to(self.device)
        self.gradient = torch.zeros_like(self.parameters)
        self.extra = self.parameters[len(initial) :]
        self.extra_gradient = self.gradient[len(initial) :]
        self._views = self._split(self.parameters)
        self._gradient_views = self._split(self.gradient)
        self._inputs = torch.empty(0)
        self._kept: list[Activations] = []
        # Reused: fresh memory for every part would cost more than filling it.
        self._frames_buffer = torch.empty(
            (CHUNK, *frames), dtype=self._kind, device=self.device
        ).contiguous(memory_format=torch.channels_last)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), float32."""
        self._inputs, self._kept = inputs, []
        weights, outputs = self._working(self._views), []
        for part in torch.split(inputs, CHUNK):
            activations = self._pass(weights, self._frames(part))
            outputs.append(activations[-1].float())
            if len(inputs) <= KEPT:
                self._kept.append(activations)
        return torch.cat(outputs)

    def backward(self, output_gradient: Tensor) -> None:
        """Gradients for the last `forward`, into `gradient`."""
        weights = self._working(self._views)
        for view in self._gradient_views:
            view.zero_()
        slopes = torch.split(output_gradient.to(self._kind), CHUNK)
        for slope, (frames, activations) in zip(slopes, self._parts(weights), strict=True):
            self._add_gradients(weights, frames, activations, slope)

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        weights, moves = self._working(self._views), self._working(self._split(direction))
        return torch.cat(
            [
                self._tangent(weights, moves, frames, activations).float()
                for frames, activations in self._parts(weights)
            ]
        )

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations, without keeping anything."""
        weights = self._working(self._views)
        parts = torch.split(torch.from_numpy(observations), CHUNK)
        outputs = [self._pass(weights, self._frames(part))[-1].float() for part in parts]
        found: NDArray[np.float32] = torch.cat(outputs).cpu().numpy()
        return found

    def layer_gradients(self) -> list[Tensor]:
        """Each layer's part (weights and biases) of the flat gradient, first layer first."""
        lengths = [math.prod(shape) for shape in self._shapes]
        pairs = [a + b for a, b in zip(lengths[::2], lengths[1::2], strict=True)]
        return list(torch.split(self.gradient[: sum(pairs)], pairs))

    def layers(self) -> list[Tensor]:
        """Weight, bias, weight, bias ... first layer first."""
        return self._views

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        self.parameters.copy_(torch.from_numpy(np.asarray(state["parameters"])))

    def _frames(self, frames: Tensor) -> Tensor:
        return self._frames_buffer[: len(frames)].copy_(frames)

    def _working(self, views: list[Tensor]) -> list[Tensor]:
        """Weights as the products want them: their own format, channels last.

        The first layer's are divided by 255 in place of the frames.
        """
        working = [
            view.to(self._kind, memory_format=torch.channels_last)
            if view.ndim == 4
            else view.to(self._kind)
            for view in views
        ]
        working[0] = working[0] / BRIGHTEST
        return working

    def _parts(self, weights: list[Tensor]) -> Iterator[tuple[Tensor, Activations]]:
        """The last batch part by part: frames and what the layers made of them."""
        for index, part in enumerate(torch.split(self._inputs, CHUNK)):
            frames = self._frames(part)
            yield frames, self._kept[index] if self._kept else self._pass(weights, frames)

    def _pass(self, weights: list[Tensor], frames: Tensor) -> Activations:
        activations, current = [], frames
        for index, (_, _, stride) in enumerate(self.architecture.layers):
            weight, bias = weights[2 * index], weights[2 * index + 1]
            current = functional.conv2d(current, weight, bias, stride=stride).relu_()
            activations.append(current)
        weight, bias, last_weight, last_bias = weights[self.architecture.dense :]
        current = products.with_relu(current.flatten(1), weight, bias)
        return [*activations, current, torch.addmm(last_bias, current, last_weight.t())]

    def _add_gradients(
        self, weights: list[Tensor], frames: Tensor, activations: Activations, slope: Tensor
    ) -> None:
        *convolved, features, _ = activations
        layers, dense = self.architecture.layers, self.architecture.dense
        weight, last_weight = weights[dense], weights[dense + 2]
        gradients = self._gradient_views
        products.add_weight_gradient(slope, features, gradients[dense + 2])
        gradients[dense + 3].add_(slope.sum(0))
        slope = torch.ops.aten.threshold_backward(slope @ last_weight, features, 0)
        products.add_weight_gradient(slope, convolved[-1].flatten(1), gradients[dense])
        gradients[dense + 1].add_(slope.sum(0))
        slope = products.passed_down(slope, weight).view(convolved[-1].shape)
        slope = slope.contiguous(memory_format=torch.channels_last)
        for index in range(len(layers) - 1, -1, -1):
            filters, _, stride = layers[index]
            slope = torch.ops.aten.threshold_backward(slope, convolved[index], 0)
            slope, of_weight, of_bias = torch.ops.aten.convolution_backward(
                slope,
                convolved[index - 1] if index else frames,
                weights[2 * index],
                [filters],
                [stride, stride],
                [0, 0],
                [1, 1],
                False,
                [0, 0],
                1,
                [index > 0, True, True],  # nobody asks for the frames' gradient
            )
            gradients[2 * index].add_(of_weight, alpha=1.0 if index else 1.0 / BRIGHTEST)
            gradients[2 * index + 1].add_(of_bias)

    def _tangent(
        self, weights: list[Tensor], moves: list[Tensor], frames: Tensor, activations: Activations
    ) -> Tensor:
        """Product rule, layer by layer: what the moved weights change, and what is passed on."""
        *convolved, features, _ = activations
        below, change = frames, None
        for index, (_, _, stride) in enumerate(self.architecture.layers):
            moved = functional.conv2d(below, moves[2 * index], moves[2 * index + 1], stride=stride)
            if change is not None:
                moved += functional.conv2d(change, weights[2 * index], stride=stride)
            below = convolved[index]
            change = moved.mul_(below > 0)
        assert change is not None
        weight, _, last_weight, _ = weights[self.architecture.dense :]
        move, bias_move, last_move, last_bias_move = moves[self.architecture.dense :]
        moved = products.tangent(below.flatten(1), change.flatten(1), weight, move, bias_move)
        moved.mul_(features > 0)
        return products.tangent(features, moved, last_weight, last_move, last_bias_move)

    def _split(self, flat: Tensor) -> list[Tensor]:
        views, offset = [], 0
        for shape in self._shapes:
            length = math.prod(shape)
            views.append(flat[offset : offset + length].view(shape))
            offset += length
        return views


def _shapes(
    architecture: Architecture, frames: tuple[int, ...], outputs: int
) -> list[tuple[int, ...]]:
    """Weights and biases, layer by layer."""
    channels, height, width = frames
    shapes: list[tuple[int, ...]] = []
    for filters, kernel, stride in architecture.layers:
        shapes += [(filters, channels, kernel, kernel), (filters,)]
        channels = filters
        height, width = ((side - kernel) // stride + 1 for side in (height, width))
    flat, features = channels * height * width, architecture.features
    return [*shapes, (features, flat), (features,), (outputs, features), (outputs,)]
