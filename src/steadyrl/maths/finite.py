"""Whether numbers are numbers, asked in every step of every environment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 64


def all_finite(*arrays: NDArray[Any]) -> bool:
    """Whether no array holds a NaN or an infinity.

    Few numbers are asked one by one, which costs less than a call of NumPy's. Of many, the sum is
    asked: it is finite only if all its terms are, and quick. Large terms may overflow it; then each
    is looked at. Whole numbers are finite.
    """
    for array in arrays:
        if array.size <= FEW:
            if array.dtype.kind == "f" and not all(map(math.isfinite, array.ravel().tolist())):
                return False
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(float(array.sum())):
                continue
        if not np.isfinite(array).all():
            return False
    return True
