"""Passes of a dense network over few rows, in NumPy, on the weights that the network holds.

A product of two 64 x 64 matrices takes ten microseconds, and what torch does around it as long
again. NumPy does less, but only where nothing of torch comes in between: passes alone in NumPy,
within a step that is torch's for the rest, gain nothing (docs/log.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float32]
FEW = 64 * 64 * 64  # multiplications of a product; for larger ones OpenBLAS wakes other threads
PIECES = 4  # into which larger ones are cut; beyond that, torch is as fast


class FewRows:
    """ReLU or tanh between linear layers, and what a step down the gradient asks for."""

    def __init__(
        self,
        layers: Sequence[tuple[Tensor, Tensor]],
        gradients: Sequence[tuple[Tensor, Tensor]],
        gradient: Tensor,
        extra: Tensor,
        *,
        relu: bool,
    ) -> None:
        self._weights = [weight.numpy() for weight, _ in layers]
        *self._below_last, self._last = [(w.numpy().T, bias.numpy()) for w, bias in layers]
        self._gradients = [(weight.numpy(), bias.numpy()) for weight, bias in gradients]
        self.gradient: Floats = gradient.numpy()
        self.extra: Floats = extra.numpy()
        self._relu = relu
        self._piece = max(1, FEW // max(weight.size for weight in self._weights))
        self.most = PIECES * self._piece
        self._hidden: list[Floats] = []
        self._deltas: list[Floats] = []

    def act(self, inputs: Floats) -> Floats:
        """Outputs alone; nothing is kept."""
        return self._outputs(inputs, [None] * len(self._below_last))

    def forward(self, inputs: Floats) -> Floats:
        """Outputs, in memory of their own; hidden layers are kept for `backward`."""
        if not self._hidden or len(self._hidden[0]) != len(inputs):
            widths = [len(bias) for _, bias in self._below_last]
            self._hidden = [np.empty((len(inputs), width), np.float32) for width in widths]
            self._deltas = [np.empty_like(hidden) for hidden in self._hidden]
        return self._outputs(inputs, self._hidden)

    def backward(self, output_gradient: Floats, inputs: Floats) -> None:
        """Gradients for the last `forward`, into the network's; those of `extra` stay."""
        delta = output_gradient
        for index in range(len(self._weights) - 1, -1, -1):
            below = self._hidden[index - 1] if index else inputs
            weight_gradient, bias_gradient = self._gradients[index]
            self._sum_products(delta, below, weight_gradient)
            np.add.reduce(delta, 0, out=bias_gradient)
            if index:
                delta = self._product(delta, self._weights[index], self._deltas[index - 1])
                self._bend(delta, below)

    def put_value_gradient(self, inputs: Floats, wanted: Floats) -> Floats:
        """The slope of the mean squared error of the one output; returns each row's error."""
        errors = self.forward(inputs)[:, 0] - wanted
        self.backward((errors * np.float32(2.0 / len(errors)))[:, None], inputs)
        return errors

    def gradient_norm(self) -> float:
        """Euclidean length."""
        return math.sqrt(np.dot(self.gradient, self.gradient))

    def _outputs(self, inputs: Floats, hidden: Sequence[Floats | None]) -> Floats:
        current = inputs
        for (weight, bias), out in zip(self._below_last, hidden, strict=True):
            current = self._product(current, weight, out)
            np.add(current, bias, out=current)
            if self._relu:
                np.maximum(current, 0.0, out=current)
            else:
                np.tanh(current, out=current)
        outputs = self._product(current, self._last[0], None)
        outputs += self._last[1]
        return outputs

    def _product(self, left: Floats, right: Floats, out: Floats | None) -> Floats:
        piece = self._piece
        if len(left) <= piece:
            return np.dot(left, right, out=out)
        whole = np.empty((len(left), right.shape[1]), np.float32) if out is None else out
        for start in range(0, len(left), piece):
            np.dot(left[start : start + piece], right, out=whole[start : start + piece])
        return whole

    def _sum_products(self, delta: Floats, below: Floats, out: Floats) -> None:
        """Delta' below, summed over the rows."""
        piece = self._piece
        np.dot(delta[:piece].T, below[:piece], out=out)
        for start in range(piece, len(delta), piece):
            out += np.dot(delta[start : start + piece].T, below[start : start + piece])

    def _bend(self, delta: Floats, activation: Floats) -> None:
        """Times the slope of the activation function, in place."""
        if self._relu:
            np.putmask(delta, activation <= 0.0, 0.0)
            return
        slopes = np.multiply(activation, activation)
        np.subtract(1.0, slopes, out=slopes)
        np.multiply(delta, slopes, out=delta)


def few_rows_of(network: object, rows: int) -> FewRows | None:
    """A network's passes in NumPy, if it has them and so many rows are few."""
    few: FewRows | None = getattr(network, "few", None)
    return few if few is not None and rows <= few.most else None
