"""Generalised advantage estimation (Schulman et al., 2016), with honest ends of episodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


def advantages(
    rewards: Floats,
    values: Floats,
    last_values: Floats,
    terminated: Flags,
    truncated: Flags,
    cut_values: Floats,
    *,
    gamma: float,
    decay: float,
) -> Floats:
    """One pass back through a rollout; every array is (time, environments).

    `last_values` are of the states after the rollout. A terminated episode has no future. A
    truncated one would have gone on: its future is worth `cut_values`, the value of the state it
    was cut off in (entries elsewhere are not looked at).
    """
    following = np.concatenate((values[1:], last_values[None]))
    future = np.where(truncated, cut_values, following)
    alive = (~terminated).astype(np.float32)
    surprises = rewards + np.float32(gamma) * future * alive - values
    carried = np.float32(gamma * decay) * (~(terminated | truncated)).astype(np.float32)
    result = np.empty_like(surprises)
    running = np.zeros_like(last_values)
    for time in range(len(rewards) - 1, -1, -1):
        running = surprises[time] + carried[time] * running
        result[time] = running
    return result


def explained_variance(predicted: Floats, actual: Floats) -> float:
    """1 - Var(actual - predicted) / Var(actual); NaN where the actual never varies."""
    spread = float(actual.var())
    return 1.0 - float((actual - predicted).var()) / spread if spread > 0 else float("nan")
