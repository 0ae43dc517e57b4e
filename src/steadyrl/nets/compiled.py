"""A dense network whose passes are compiled: the same arithmetic in fewer, wider pieces.

At batch 64 half of an update's time goes into calling libraries, each of which turns its matrices
first. The kernel keeps values unit by unit, where nothing needs turning, and does a layer's
product, bias and ReLU in one go. It runs on one thread. Where there is no compiler, the network
passes as any other does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from steadyrl.nets.compiling import kernel
from steadyrl.nets.dense import DenseNetwork, Network, Output, Precision, forget_many


class CompiledNetwork(DenseNetwork):
    """Fp32 on the processor, ReLU between the layers."""

    def __init__(self, sizes: Sequence[int], *, output: Output = "linear", seed: int = 0) -> None:
        super().__init__(sizes, output=output, seed=seed)
        self._counts = np.asarray(self.sizes, dtype=np.intc)
        self._rooms: dict[int, _Room] = {}
        self._outputs = torch.empty(0)
        self._through = False  # the kernel, the last `forward`

    def clone(self) -> CompiledNetwork:
        """An independent network with the same weights."""
        twin = CompiledNetwork(self.sizes, output=self.output)
        twin.parameters.copy_(self.parameters)
        return twin

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs); what hidden layers put out is kept for `backward`."""
        library = kernel()
        plain = inputs.dtype is torch.float32 is self.parameters.dtype and inputs.is_cpu
        fits = plain and inputs.shape[1:] == self.sizes[:1]
        self._through = library is not None and fits and len(inputs) > 0
        if library is None or not self._through:
            return super().forward(inputs)  # which has words for what does not fit
        rows = inputs.shape[0]
        self._inputs = inputs = inputs.contiguous()
        room = self._room(library, rows)
        self._outputs = outputs = _empty(rows, self.sizes[-1])
        library.forward(
            len(self._counts) - 1,
            self._counts.ctypes.data,
            rows,
            self.parameters.data_ptr(),
            inputs.data_ptr(),
            room.values.data_ptr(),
            outputs.data_ptr(),
            room.panel.data_ptr(),
        )
        return outputs.tanh_() if self.output == "tanh" else outputs

    def backward(
        self, output_gradient: Tensor, *, parameters: bool = True, inputs_from: int | None = None
    ) -> Tensor | None:
        """As `DenseNetwork.backward`."""
        library = kernel()
        if library is None or not self._through:
            return super().backward(output_gradient, parameters=parameters, inputs_from=inputs_from)
        rows, through = output_gradient.shape[0], None
        wanted = self._outputs.shape
        if output_gradient.dtype is not torch.float32 or output_gradient.shape != wanted:
            found = f"{tuple(output_gradient.shape)} and {output_gradient.dtype}"
            raise ValueError(f"slopes of shape {found}: outputs had {tuple(wanted)} and float32")
        if not 0 <= (inputs_from or 0) < self.sizes[0]:
            raise ValueError(f"inputs_from = {inputs_from}: there are {self.sizes[0]} inputs")
        if self.output == "tanh":
            output_gradient = torch.ops.aten.tanh_backward(output_gradient, self._outputs)
        if inputs_from is not None:
            through = _empty(rows, self.sizes[0] - inputs_from)
        slopes, room = output_gradient.contiguous(), self._rooms[rows]
        library.backward(
            len(self._counts) - 1,
            self._counts.ctypes.data,
            rows,
            self.parameters.data_ptr(),
            room.values.data_ptr(),
            slopes.data_ptr(),
            self.gradient.data_ptr() if parameters else None,
            None if through is None else through.data_ptr(),
            inputs_from or 0,
            room.slopes.data_ptr(),
            max(self.sizes),
            room.panel.data_ptr(),
        )
        return through

    def tangent(self, direction: Tensor) -> Tensor:
        """As `DenseNetwork.tangent`, which wants values row by row."""
        super().forward(self._inputs)
        return super().tangent(direction)

    def hidden_activations(self) -> list[Tensor]:
        """What the hidden layers put out in the last `forward`."""
        if not self._through:
            return super().hidden_activations()
        rows = len(self._inputs)
        layers = torch.split(self._rooms[rows].values, list(self.sizes))
        return [layer[:, :rows].t() for layer in layers[1:-1]]

    def _room(self, library: ctypes.CDLL, rows: int) -> _Room:
        if rows not in self._rooms:
            forget_many(self._rooms)
            stride = library.stride_of(rows)
            self._rooms[rows] = _Room(
                _empty(sum(self.sizes), stride),
                _empty(2, max(self.sizes), stride),
                _empty(library.panel_size()),
            )
        return self._rooms[rows]


def _empty(*shape: int) -> Tensor:
    """What the kernel can write into, whatever somebody has made torch's defaults."""
    return torch.empty(shape, dtype=torch.float32, device="cpu")


class _Room(NamedTuple):
    """Where passes of so many rows put what they compute."""

    values: Tensor  # of all layers, inputs first: a line for each unit, a column for each row
    slopes: Tensor  # of two layers
    panel: Tensor


def relu_network(
    sizes: Sequence[int],
    *,
    compiled: bool,
    output: Output = "linear",
    seed: int = 0,
    device: torch.device | str = "cpu",
    precision: Precision = "fp32",
) -> DenseNetwork:
    """With passes that are compiled, where that is wanted and makes sense."""
    here = torch.device(device).type == "cpu" and precision == "fp32"
    if compiled and here and torch.get_num_threads() == 1:
        return CompiledNetwork(sizes, output=output, seed=seed)
    return DenseNetwork(sizes, output=output, seed=seed, device=device, precision=precision)


def passes_of(network: Network) -> str:
    """Who computes them, for a run's record: other digits come of others."""
    library = kernel() if isinstance(network, CompiledNetwork) else None
    return f"compiled passes {library.digest}" if library else ""
