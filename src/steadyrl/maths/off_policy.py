"""What data is worth that another policy, or an uneven draw, has made. Pure.

Three factors that are easily mixed up, each for a question of its own:

- `sampling_weights`: some items are drawn more often than others. (N p)^-beta undoes that.
- `policy_weights` (losses.py): the policy has moved since an item was made. The ratio of what it
  would do now to what was done then undoes that; it is bounded, because one improbable item must
  not rule.
- PPO's clip (losses.py, token_losses.py): how far one update may go from where it begins. It is no
  correction at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sampling_weights(shares: Floats, count: int, beta: float) -> Floats:
    """(N p)^-beta of items drawn with these probabilities out of `count`, over the largest."""
    weights = np.power(count * shares, -beta)
    return np.asarray(weights / weights.max())


def effective_share(weights: NDArray[Any]) -> float:
    """(sum w)^2 / (N sum w^2): 1 if all count alike, 1/N if one of N counts alone, NaN for none."""
    if not len(weights):
        return float("nan")
    sizes = weights.astype(np.float64)
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / (len(sizes) * squares) if squares else float("nan")
