"""Fully connected networks whose forward and backward passes are written out.

All weights live in one flat vector and all gradients in another, so the optimiser, the target
update and every norm are single operations, and passes reuse their buffers. Against autograd this
saves a quarter to a third of an update (see docs/decisions.md); a test holds it to autograd. No
tensor here requires a gradient, so autograd has nothing to record and needs no switching off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
BLOCK = 2048  # rows; of 64 units half a megabyte
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
        through: list[Tensor] = []
        for number, (values, delta) in enumerate(self._blocks(output_gradient)):
            delta = self._backward(delta, values, parameters=parameters, onto=number > 0)
            if inputs_from is not None:
                weight = self._work_layers[0][0][:, inputs_from:]
                through.append(products.input_gradient(delta, weight).float())
        if parameters and self.precision == "bf16":
            kept = self.extra_gradient.clone()  # not the products' to overwrite
            self.gradient.copy_(self._rounded_gradient)
            self.extra_gradient.copy_(kept)
        if inputs_from is None:
            return None
        return through[0] if len(through) == 1 else torch.cat(through)

    def _backward(
        self, delta: Tensor, values: list[Tensor], *, parameters: bool, onto: bool
    ) -> Tensor:
        """From the outputs' slopes to those of the first layer; gradients put, or added `onto`."""
        deltas = self._workspace(self._deltas, len(delta))
        if self.precision == "bf16":
            delta = delta.to(torch.bfloat16)
        if self.output == "tanh":
            delta = torch.ops.aten.tanh_backward(delta, values[-1])
        for index in range(len(self._work_layers) - 1, -1, -1):
            if parameters:
                weight_gradient, bias_gradient = self._gradient_layers[index]
                if onto:
                    products.add_weight_gradient(delta, values[index], weight_gradient)
                    bias_gradient.add_(delta.sum(0))
                else:
                    products.put_weight_gradient(delta, values[index], weight_gradient)
                    torch.sum(delta, 0, out=bias_gradient)
            if index:
                weight = self._work_layers[index][0]
                delta = products.passed_down(delta, weight, deltas[index - 1])
                self._through_bend(delta, values[index])
        return delta

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the last `forward`'s outputs along a direction in parameter space."""
        layers = _views(direction.to(self._inputs.dtype), self.sizes)
        found = [self._tangent(layers, values).float() for values, _ in self._blocks(self._inputs)]
        return found[0] if len(found) == 1 else torch.cat(found)

    def _tangent(self, layers: list[tuple[Tensor, Tensor]], values: list[Tensor]) -> Tensor:
        moves, change = self._workspace(self._moves, len(values[0])), None
        for index, (weight, bias) in enumerate(layers):
            held, last = self._work_layers[index][0], index == len(layers) - 1
            out = None if last else moves[index]  # the last is the caller's to keep
            change = products.tangent(values[index], change, held, weight, bias, out=out)
            if not last:
                self._through_bend(change, values[index + 1])
            elif self.output == "tanh":
                _THROUGH_TANH(change, values[-1], grad_input=change)
        assert change is not None
        return change

    def _through_bend(self, slopes: Tensor, activation: Tensor) -> None:
        """Times the slope of the activation function, in place."""
        if self.hidden == "relu":
            _THROUGH_RELU(slopes, activation, 0, grad_input=slopes)
        else:
            _THROUGH_TANH(slopes, activation, grad_input=slopes)

    def _blocks(self, beside: Tensor) -> Iterator[tuple[list[Tensor], Tensor]]:
        """What the layers took in and put out in the last `forward`, and so many rows of `beside`.

        What one block of rows leads to stays in a near cache until the next layer asks for it.
        """
        values = [self._inputs, *self._activations[len(beside)]]
        if len(beside) <= BLOCK or self.device.type != "cpu" or self.precision == "bf16":
            yield values, beside
            return
        columns = [torch.split(column, BLOCK) for column in (*values, beside)]
        for *block, part in zip(*columns, strict=True):
            yield block, part

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
