"""Fully connected networks whose forward and backward passes are written out.

All weights live in one flat vector and all gradients in another, so the optimiser, the target
update and every norm are single operations, and passes reuse their buffers. Against autograd this
saves a quarter to a third of an update (see docs/decisions.md); a test holds it to autograd. No
tensor here requires a gradient, so autograd has nothing to record and needs no switching off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.nets import products
from steadyrl.nets.few_rows import FewRows
from steadyrl.nets.initial import Gain, orthogonal, uniform

Output = Literal["linear", "tanh"]
Hidden = Literal["relu", "tanh"]
Precision = Literal["fp32", "bf16"]

_THROUGH_RELU = torch.ops.aten.threshold_backward.grad_input  # found once: a look-up takes a µs
_THROUGH_TANH = torch.ops.aten.tanh_backward.grad_input
NUMPY_ROWS = 16  # up to which NumPy's dispatch is cheaper than torch's (10 against 37 µs for one)


class Network(Protocol):
    """What optimisers and learners know of a network, whatever it is made of."""

    parameters: Tensor
    gradient: Tensor
    extra: Tensor
    extra_gradient: Tensor
    device: torch.device

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), float32."""
        ...

    def backward(self, output_gradient: Tensor) -> Any:
        """Gradients for the last `forward`, into `gradient`; `extra_gradient` stays."""
        ...

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        ...


class ActingNetwork(Network, Protocol):
    """A network that plays, and that trust regions can ask for its tangent."""

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        ...

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations, without keeping anything."""
        ...

    def layer_gradients(self) -> list[Tensor]:
        """Each layer's part of the flat gradient, first layer first."""
        ...


class DenseNetwork:
    """Linear layers, ReLU or tanh between them. What `forward` returns is the caller's to keep.

    `extra` free parameters (a policy's log standard deviations) end the flat vector, so that one
    optimiser and one norm cover everything. With bf16 the products run on rounded copies of the
    weights; weights and gradients stay fp32.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        output: Output = "linear",
        hidden: Hidden = "relu",
        gain: Gain | None = None,
        extra: int = 0,
        seed: int = 0,
        device: torch.device | str = "cpu",
        precision: Precision = "fp32",
    ) -> None:
        self.sizes, self.output, self.precision = tuple(sizes), output, precision
        self.hidden, self.device = hidden, torch.device(device)
        shapes = [(outputs, inputs) for inputs, outputs in pairwise(sizes)]
        initial = uniform(self.sizes, seed) if gain is None else orthogonal(shapes, seed, gain)
        self.parameters = torch.cat((initial, torch.zeros(extra))).to(self.device)
        self.gradient = torch.zeros_like(self.parameters)
        self.extra = self.parameters[len(initial) :]
        self.extra_gradient = self.gradient[len(initial) :]
        self._layers = _views(self.parameters, self.sizes)
        if precision == "bf16":
            self._rounded = self.parameters.to(torch.bfloat16)
            self._rounded_gradient = torch.zeros_like(self._rounded)
            self._work_layers = _views(self._rounded, self.sizes)
            self._gradient_layers = _views(self._rounded_gradient, self.sizes)
        else:
            self._work_layers = self._layers
            self._gradient_layers = _views(self.gradient, self.sizes)
        self.few: FewRows | None = None  # the same in NumPy, which knows neither GPUs nor bf16
        if self.device.type == "cpu" and precision == "fp32":
            pairs, relu = (self._layers, self._gradient_layers), hidden == "relu"
            self.few = FewRows(*pairs, self.gradient, self.extra, relu=relu)
        self._hidden_layer = products.with_relu if hidden == "relu" else products.with_tanh
        *self._below_last, self._last = self._work_layers
        self._activations: dict[int, list[Tensor]] = {}
        self._deltas: dict[int, list[Tensor]] = {}
        self._moves: dict[int, list[Tensor]] = {}
        self._bends: list[Tensor] = []  # of the last `forward`, once a tangent has asked for them
        self._inputs = torch.empty(0)

    def clone(self) -> DenseNetwork:
        """An independent network with the same weights."""
        twin = DenseNetwork(
            self.sizes,
            output=self.output,
            hidden=self.hidden,
            extra=len(self.extra),
            device=self.device,
            precision=self.precision,
        )
        twin.parameters.copy_(self.parameters)
        return twin

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), float32; activations are kept for `backward`."""
        if self.precision == "bf16":
            self._rounded.copy_(self.parameters)
            inputs = inputs.to(torch.bfloat16)
        activations = self._workspace(self._activations, inputs.shape[0])
        self._inputs = current = inputs
        self._bends = []
        for index, (weight, bias) in enumerate(self._below_last):
            current = self._hidden_layer(current, weight, bias, activations[index])
            activations[index] = current
        weight, bias = self._last
        current = activations[-1] = torch.addmm(bias, current, weight.t())
        if self.output == "tanh":
            current.tanh_()
        return current.float() if self.precision == "bf16" else current

    def backward(
        self, output_gradient: Tensor, *, parameters: bool = True, inputs_from: int | None = None
    ) -> Tensor | None:
        """Gradients for the last `forward`: into `gradient`, and returned for the inputs if asked.

        Pass `parameters=False` where only the gradient of inputs is wanted, `inputs_from` the first
        of their columns (the actor's loss seen through the critic, by its actions): half of the
        products are then never computed.
        """
        delta, rows = output_gradient, output_gradient.shape[0]
        activations, deltas = self._activations[rows], self._workspace(self._deltas, rows)
        if self.precision == "bf16":
            delta = delta.to(torch.bfloat16)
        if self.output == "tanh":
            delta = torch.ops.aten.tanh_backward(delta, activations[-1])
        for index in range(len(self._work_layers) - 1, -1, -1):
            below = activations[index - 1] if index else self._inputs
            if parameters:
                weight_gradient, bias_gradient = self._gradient_layers[index]
                products.put_weight_gradient(delta, below, weight_gradient)
                torch.sum(delta, 0, out=bias_gradient)
            if index:
                weight = self._work_layers[index][0]
                delta = products.passed_down(delta, weight, deltas[index - 1])
                if self.hidden == "relu":
                    _THROUGH_RELU(delta, below, 0, grad_input=delta)
                else:
                    _THROUGH_TANH(delta, below, grad_input=delta)
        if parameters and self.precision == "bf16":
            kept = self.extra_gradient.clone()  # not the products' to overwrite
            self.gradient.copy_(self._rounded_gradient)
            self.extra_gradient.copy_(kept)
        if inputs_from is None:
            return None
        return products.input_gradient(delta, self._work_layers[0][0][:, inputs_from:]).float()

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        activations = self._activations[len(self._inputs)]
        moves = self._workspace(self._moves, len(self._inputs))
        bends = self._bends = self._bends or self._slopes(activations)
        below, change, last = self._inputs, None, len(self._work_layers) - 1
        layers = _views(direction.to(activations[0].dtype), self.sizes)
        for index, (weight, bias) in enumerate(layers):
            held = self._work_layers[index][0]
            moved = products.tangent(below, change, held, weight, bias, out=moves[index])
            if index < last or self.output == "tanh":
                moved.mul_(bends[index])
            below, change = activations[index], moved
        assert change is not None
        return change.float()

    def _slopes(self, activations: list[Tensor]) -> list[Tensor]:
        """Of the activation functions: conjugate gradients ask for them ten times in a row."""
        relu = self.hidden == "relu"
        hidden = [(a > 0).to(a.dtype) if relu else 1.0 - a * a for a in activations[:-1]]
        squashed = self.output == "tanh"
        return [*hidden, *(1.0 - a * a for a in activations[-1:] if squashed)]

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations, without keeping anything."""
        if self.few is None or len(observations) > NUMPY_ROWS:
            outputs = self.forward(torch.from_numpy(observations).to(self.device))
            return outputs.cpu().numpy().copy()
        outputs_here = self.few.act(observations)
        return np.tanh(outputs_here) if self.output == "tanh" else outputs_here

    def layer_gradients(self) -> list[Tensor]:
        """Each layer's part (weights and biases) of the flat gradient, first layer first."""
        lengths = [outputs * (inputs + 1) for inputs, outputs in pairwise(self.sizes)]
        return list(torch.split(self.gradient[: sum(lengths)], lengths))

    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """(weight, bias) of each layer, first layer first."""
        return self._layers

    def hidden_activations(self) -> list[Tensor]:
        """What the hidden layers put out in the last `forward`."""
        return self._activations[len(self._inputs)][:-1]

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The weights."""
        return {"parameters": self.parameters.cpu().numpy().copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put weights back."""
        self.parameters.copy_(torch.from_numpy(np.asarray(state["parameters"])))

    def _workspace(self, store: dict[int, list[Tensor]], rows: int) -> list[Tensor]:
        if rows not in store:
            forget_many(store)
            store[rows] = self._buffers(rows)
        return store[rows]

    def _buffers(self, rows: int) -> list[Tensor]:
        kind = torch.bfloat16 if self.precision == "bf16" else torch.float32
        return [torch.empty(rows, n, dtype=kind, device=self.device) for n in self.sizes[1:]]


def forget_many(store: dict[int, Any]) -> None:
    """Make room for one more."""
    if len(store) >= 4:  # batch sizes seldom change; never hoard buffers of old ones
        store.clear()


def first_non_finite(tensors: Iterable[tuple[str, Tensor]]) -> str | None:
    """The name of the first tensor that holds NaN or infinity."""
    for name, tensor in tensors:
        if not bool(torch.isfinite(tensor.float()).all()):
            return name
    return None


def norm(vector: Tensor) -> float:
    """Euclidean length."""
    return float(torch.linalg.vector_norm(vector))


def _views(flat: Tensor, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """(weight, bias) of each layer as windows into the flat vector."""
    layers, offset = [], 0
    for inputs, outputs in pairwise(sizes):
        weight = flat[offset : offset + outputs * inputs].view(outputs, inputs)
        offset += outputs * inputs
        layers.append((weight, flat[offset : offset + outputs]))
        offset += outputs
    return layers
