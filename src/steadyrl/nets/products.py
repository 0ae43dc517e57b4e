"""Matrix products in the form that is computed fast: which way round, and by which library."""

from __future__ import annotations

from functools import cache
from typing import Literal

import torch
from torch import Tensor

from steadyrl.core.machine import processor

# Measured with MKL 2024.2 on Zen 3 against 256 units: with 3 to 8 columns and 256 rows the other
# way round takes a third of the time, with 1,024 rows a sixth; from 16 columns on it is slower.
NARROW, LONG = 16, 128
# Multiplications from which oneDNN is faster than MKL on Zen 5, its 10 µs a call included: at 256
# rows of 64 units both take 21 µs, at 64 rows of 256 units 52 and 82.
MANY = 2**20
UPRIGHT = 64  # columns; with fewer oneDNN, too, is faster the other way round

Bend = Literal["none", "tanh"]

_MINUS_ONE = torch.tensor(-1.0)


@cache
def onednn_is_wider() -> bool:
    """Whether oneDNN uses instructions of this processor that MKL leaves alone.

    MKL keeps its AVX-512 kernels for Intel's processors. On Zen 5, which computes 512 bits at once,
    256 rows of 256 units take 150 µs by oneDNN and 310 by MKL; Zen 4 does it in two halves, and
    both take as long (docs/decisions.md). A fixed answer for each processor, not one that is timed:
    a run that goes on must compute as before.
    """
    return (
        hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and "AMD" in processor()
    )


def wide(rows: int, weight: Tensor) -> bool:
    """Whether products of so many rows with this weight, there and back, are oneDNN's."""
    return (
        rows * weight.numel() >= MANY
        and onednn_is_wider()
        and weight.dtype is torch.float32
        and weight.is_cpu
        and weight.shape[0] >= NARROW
    )


def with_relu(below: Tensor, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
    """A layer and its ReLU; `out` may be left as it is."""
    if wide(len(below), weight):
        return _by_onednn(below, weight, bias).relu_()  # oneDNN's own makes 0 of NaN
    if below.is_cpu or below.is_cuda:
        return torch._addmm_activation(bias, below, weight.t(), out=out)
    return torch.addmm(bias, below, weight.t(), out=out).relu_()


def with_tanh(below: Tensor, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
    """A layer and its tanh; `out` may be left as it is."""
    if wide(len(below), weight):
        return _by_onednn(below, weight, bias, "tanh")
    if weight.dtype is torch.float32:  # bf16 has too few digits for the difference
        # tanh x = 2 sigmoid(2 x) - 1, in half of tanh's time; the product doubles for free.
        out = torch.addmm(bias, below, weight.t(), beta=2, alpha=2, out=out).sigmoid_()
        return torch.add(_MINUS_ONE, out, alpha=2, out=out)
    return torch.addmm(bias, below, weight.t(), out=out).tanh_()


def passed_down(delta: Tensor, weight: Tensor, out: Tensor | None = None) -> Tensor:
    """Delta weight; `out` may be left as it is."""
    if wide(len(delta), weight):
        return _by_onednn(delta, weight.t())
    return torch.mm(delta, weight, out=out)


def weight_gradient(delta: Tensor, below: Tensor) -> Tensor:
    """Delta' below by oneDNN."""
    if below.shape[1] < UPRIGHT:
        return _by_onednn(below.t(), delta.t()).t()
    return _by_onednn(delta.t(), below.t())


def tangent(
    below: Tensor,
    change: Tensor | None,
    weight: Tensor,
    move: Tensor,
    bias_move: Tensor,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How much more a layer puts out if its weights move and what lies below it changes."""
    if wide(len(below), weight):
        found = _by_onednn(below, move, bias_move)
        return found if change is None else found.add_(_by_onednn(change, weight))
    found = torch.addmm(bias_move, below, move.t(), out=out)
    return found if change is None else found.addmm_(change, weight.t())


def input_gradient(delta: Tensor, weight: Tensor) -> Tensor:
    """Delta weight, for a weight of few columns (the actions' in a critic).

    Measured as above, 256 rows and 256 units: 6 columns of 23 take 38 µs this way round and 162 the
    other; all 23 of them take 116, and 393 (an observation of 376) 750 where 17 take 61.
    """
    return torch.mm(weight.t(), delta.t()).t()


def put_weight_gradient(delta: Tensor, below: Tensor, out: Tensor) -> None:
    """Delta' below, into `out`.

    Inputs of few columns (a first layer's) leave BLAS's kernels mostly idle if they come second.
    """
    rows, columns = below.shape
    if wide(rows, out):
        out.copy_(weight_gradient(delta, below))
    elif columns < NARROW and rows >= LONG and out.shape[0] >= NARROW and not out.is_cuda:
        out.copy_(torch.mm(below.t(), delta).t())
    else:
        torch.mm(delta.t(), below, out=out)


def add_weight_gradient(delta: Tensor, below: Tensor, total: Tensor) -> None:
    """Delta' below on top of `total`, whose kind may be another."""
    if total.dtype is not below.dtype:
        total.add_(delta.t() @ below)
    elif wide(len(below), total):
        total.add_(weight_gradient(delta, below))
    else:
        total.addmm_(delta.t(), below)


def _by_onednn(
    below: Tensor, weight: Tensor, bias: Tensor | None = None, bend: Bend = "none"
) -> Tensor:
    """A whole layer, in memory of its own."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(below, weight, bias, bend, [], "")
    return found
