"""Episodes' own returns, from a running mean over the newest of them and a count of all.

Programs log the mean of the last 100 episodes. It hides for a hundred episodes what a run does now,
and its neighbours share nearly all they are made of. Where the number of episodes stands beside it,
what was new in every row can be worked out again: exactly, as long as what leaves the mean are
whole rows.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from steadyrl.store.foreign.series import Series

EXACT = 1e-3  # of the largest mean: a result further outside of all means is no return any more
REACH = 10.0  # times as far from the others as means are: what rounding makes of long records


def unaveraged(means: Series, counts: Series, span: int) -> Series | None:
    """By row: the mean of the episodes that were new in it; None if that cannot be told."""
    shared, ours, theirs = np.intersect1d(means.steps, counts.steps, return_indices=True)
    if len(shared) < 2 or len(shared) < len(means):
        return None
    values, counted = means.values[ours], counts.values[theirs]
    if not (np.isfinite(values).all() and np.isfinite(counted).all()):
        return None
    if counted[0] < 1 or counted[0] > span or (np.diff(counted) < 0).any():
        return None
    found = _new_ones(values.tolist(), counted.astype(int).tolist(), span)
    if found is None:
        return None
    rows, returns = (np.array(part) for part in zip(*found, strict=True))
    if _rounded_away(returns, values):
        return None
    return means.take(ours[rows]).with_values(returns)


def _new_ones(means: list[float], counts: list[int], span: int) -> list[tuple[int, float]] | None:
    """Row and mean of its new episodes; None where a part of a row leaves the mean."""
    held: deque[tuple[int, float]] = deque()  # rows that the mean is made of: episodes, mean
    found, before, inside, total = [], 0, 0, 0.0
    for row, (mean, count) in enumerate(zip(means, counts, strict=True)):
        new = count - before
        if new == 0:
            continue
        before, inside = count, inside + new
        while inside > span:
            if not held or held[0][0] > inside - span:
                return None
            gone, their_mean = held.popleft()
            inside, total = inside - gone, total - gone * their_mean
        now = mean * inside
        held.append((new, (now - total) / new))
        total = now
        found.append((row, held[-1][1]))
    return found


def _rounded_away(returns: np.ndarray, means: np.ndarray) -> bool:
    """Whether rounded means left nothing but their rounding."""
    reach = float(np.ptp(means)) + EXACT * float(np.abs(means).max())
    middle = float(np.median(means))
    return bool(np.median(np.abs(returns - middle)) > REACH * reach)
