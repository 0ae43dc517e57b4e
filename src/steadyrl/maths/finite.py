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
    is looked at.
    """
    if sum(array.size for array in arrays) <= FEW:
        return all(all(map(math.isfinite, array.ravel().tolist())) for array in arrays)
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(sum(float(array.sum()) for array in arrays)):
            return True
    return all(bool(np.isfinite(array).all()) for array in arrays)
