"""Two laws of a rollout's returns: nothing follows an end, and a cut is followed by what it cut.

Measured on the returns, not on the flags that led to them. What float32 alone can account for is
not counted, whatever the scale of rewards and values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.experience.rollout import Rollout

Array = NDArray[Any]
# A return is (reward + future - value) + value: three sums, each rounded by half an epsilon of at
# most the terms' sizes together.
ROUNDING = 2.0 * float(np.finfo(np.float32).eps)


def terminal_error(rollout: Rollout, returns: Array) -> float:
    """Mean distance of the returns of terminated steps from their rewards."""
    ended = rollout.terminated
    future = np.zeros(int(ended.sum()))
    return float(_off(returns[ended], rollout.rewards[ended], future, rollout.values[ended]).mean())


def unbootstrapped(rollout: Rollout, returns: Array, expected: Array) -> float:
    """Which share of the worth of cut-off states is missing from what is learned about them.

    0 if every cut is followed by the value of the state it cut, 1 if cuts are learned as ends.
    """
    where = tuple(np.array([cut[axis] for cut in rollout.cuts]) for axis in (0, 1))
    worth = expected[where]
    missing = _off(returns[where], rollout.rewards[where], worth, rollout.values[where]).sum()
    return float(missing / max(np.abs(worth).sum(), missing)) if missing else 0.0


def _off(returns: Array, rewards: Array, future: Array, values: Array) -> NDArray[np.float64]:
    """|return - reward - future| of each step; 0 where rounding explains it."""
    found, gained, later, before = (
        part.astype(np.float64) for part in (returns, rewards, future, values)
    )
    off = np.abs(found - gained - later)
    size = np.abs(gained) + np.abs(later) + np.abs(before)
    return np.where(off > ROUNDING * size, off, 0.0)
