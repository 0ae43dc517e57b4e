"""Stretches of what was lived in one environment, short enough to be kept and drawn one by one.

A stretch never reaches over a cut (an episode that was stopped by a time limit): where one is, it
ends early, and what would have come next is the observation after it. So one observation is all
that is needed to find out what its end is worth, whenever it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.experience.rollout import Rollout
from steadyrl.maths.advantages import advantages as advantages_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Segments:
    """Arrays of (stretches, time, ...); what the mask leaves out is zero."""

    observations: Array  # as the environment gave them: normalisers move on
    actions: Array
    log_probs: Array  # of the policy that acted
    rewards: Array
    terminated: Array
    mask: Array
    after: Array  # (stretches, ...): the observation that follows the last step
    values: Array  # what was thought of them when they were new
    advantages: Array

    def __len__(self) -> int:
        return len(self.mask)

    def arrays(self) -> dict[str, Array]:
        """By name, as a buffer keeps them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def lengths(self) -> Array:
        """Steps of each."""
        return np.asarray(self.mask.sum(axis=1))


def segments_of(rollout: Rollout, advantages: Array, length: int) -> Segments:
    """A rollout, cut into stretches of at most `length` steps."""
    bounds = [
        (copy, start, stop)
        for copy in range(rollout.copies)
        for start, stop in _stretches(rollout.truncated[:, copy], length)
    ]
    seen, last, cuts = rollout.given()
    follows = {(at, copy): cut for at, copy, cut in cuts}

    def cut(values: Array) -> Array:
        kept = np.zeros((len(bounds), length, *values.shape[2:]), dtype=values.dtype)
        for row, (copy, start, stop) in enumerate(bounds):
            kept[row, : stop - start] = values[start:stop, copy]
        return kept

    after = np.zeros((len(bounds), *seen.shape[2:]), dtype=seen.dtype)
    for row, (copy, _, stop) in enumerate(bounds):
        if (stop - 1, copy) in follows:
            after[row] = follows[stop - 1, copy]
        else:
            after[row] = seen[stop, copy] if stop < rollout.length else last[copy]
    return Segments(
        observations=cut(seen),
        actions=cut(rollout.actions),
        log_probs=cut(rollout.log_probs),
        rewards=cut(rollout.rewards),
        terminated=cut(rollout.terminated),
        mask=cut(np.ones((rollout.length, rollout.copies), dtype=bool)),
        after=after,
        values=cut(rollout.values),
        advantages=cut(advantages),
    )


def segment_advantages(
    segments: Segments, values: Array, after: Array, *, gamma: float, decay: float
) -> Array:
    """Advantages (stretches, time) from these values; what follows a stretch is worth `after`.

    A stretch that is shorter than the others ends like one that was cut off there.
    """
    lengths = segments.lengths
    steps = segments.mask.shape[1]
    short = np.flatnonzero(lengths < steps)
    ends, worth = np.zeros_like(segments.mask), np.zeros_like(values)
    ends[short, lengths[short] - 1] = True
    worth[short, lengths[short] - 1] = after[short]
    terminated = segments.terminated.astype(bool)
    gained = advantages_of(
        segments.rewards.T,
        values.T,
        after,
        terminated.T,
        (ends & ~terminated).T,
        worth.T,
        gamma=gamma,
        decay=decay,
    )
    return np.where(segments.mask, gained.T, np.float32(0.0))


def _stretches(truncated: Array, length: int) -> list[tuple[int, int]]:
    """(start, stop) of stretches that end at every cut and are no longer than `length`."""
    ends = [*(np.flatnonzero(truncated) + 1).tolist(), len(truncated)]
    found, start = [], 0
    for end in ends:
        while start < end:
            stop = min(start + length, end)
            found.append((start, stop))
            start = stop
    return found
