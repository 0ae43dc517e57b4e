"""Matrix products in the form that BLAS computes fast."""

from __future__ import annotations

import torch
from torch import Tensor

# Measured with MKL 2024.2 on Zen 3 against 256 units: with 3 to 8 columns and 256 rows the other
# way round takes a third of the time, with 1,024 rows a sixth; from 16 columns on it is slower.
NARROW, LONG = 16, 128


def input_gradient(delta: Tensor, weight: Tensor) -> Tensor:
    """Delta weight, for a weight of few columns (the actions' in a critic).

    Measured as above, 256 rows and 256 units: 6 columns of 23 take 38 µs this way round and 162 the
    other; all 23 of them take 116, and 393 (an observation of 376) 750 where 17 take 61.
    """
    return torch.mm(weight.t(), delta.t()).t()


def put_weight_gradient(delta: Tensor, turned: Tensor, below: Tensor, out: Tensor) -> None:
    """Delta' below, into `out`; `turned` is delta'.

    Inputs of few columns (a first layer's) leave BLAS's kernels mostly idle if they come second.
    """
    rows, columns = below.shape
    if columns < NARROW and rows >= LONG and out.shape[0] >= NARROW and not out.is_cuda:
        out.copy_(torch.mm(below.t(), delta).t())
    else:
        torch.mm(turned, below, out=out)
