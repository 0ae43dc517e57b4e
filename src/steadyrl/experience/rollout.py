"""A rollout: what a policy met in a fixed number of steps of several environments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from steadyrl.maths.losses import normalised

Array = NDArray[Any]


class Rollout:
    """Arrays of (time, environments, ...), filled step by step and used once."""

    def __init__(
        self, length: int, copies: int, observation_shape: tuple[int, ...], kind: DTypeLike
    ) -> None:
        self.length, self.copies = length, copies
        self.observations = _zeros((length, copies, *observation_shape), kind)
        self.actions: Array = np.zeros(0)
        self.log_probs = np.zeros((length, copies), dtype=np.float32)
        self.rewards = np.zeros((length, copies), dtype=np.float32)
        self.values = np.zeros((length, copies), dtype=np.float32)
        self.terminated = np.zeros((length, copies), dtype=bool)
        self.truncated = np.zeros((length, copies), dtype=bool)
        # The states in which episodes were cut off: (time, copy) and what was seen there.
        self.cuts: list[tuple[int, int, Array]] = []
        self.last_observations: Array = np.zeros((copies, 0))
        # The same before normalisation, where that is kept: observations, last ones, cuts.
        self.raw: tuple[Array, Array, list[tuple[int, int, Array]]] | None = None

    def store_actions(self, time: int, actions: Array) -> None:
        """Actions of any shape and kind; the first ones decide which."""
        if self.actions.shape[:1] != (self.length,):
            self.actions = np.zeros((self.length, *actions.shape), dtype=actions.dtype)
        self.actions[time] = actions

    def given(self) -> tuple[Array, Array, list[tuple[int, int, Array]]]:
        """Observations, last ones and cuts as the environment gave them."""
        return self.raw or (self.observations, self.last_observations, self.cuts)


@dataclass(frozen=True)
class Weights:
    """What the rows of a batch count, where some are old."""

    fresh: Tensor  # bool
    policy: Tensor  # for an uneven draw and a policy that has moved on
    value: Tensor  # for an uneven draw

    def rows(self, chosen: Tensor) -> Weights:
        """Of some rows."""
        columns = (self.fresh, self.policy, self.value)
        return Weights(*(column.index_select(0, chosen) for column in columns))

    def cut(self, lengths: int | list[int]) -> Iterator[Weights]:
        """Of neighbouring rows."""
        columns = (self.fresh, self.policy, self.value)
        return map(Weights, *(torch.split(column, lengths) for column in columns))


@dataclass(frozen=True)
class Samples:
    """A rollout flattened for learning: one row per step of an environment."""

    observations: Tensor
    actions: Tensor
    log_probs: Tensor  # of the policy as the update begins
    values: Tensor
    advantages: Tensor
    returns: Tensor
    weights: Weights | None = None  # None: all rows are fresh and count alike

    def __len__(self) -> int:
        return len(self.log_probs)

    def rows(self, chosen: Tensor) -> Samples:
        """Some of the rows."""
        chosen = chosen.to(self.log_probs.device)
        # Indexing gives the same in three to twenty times as long.
        return Samples(
            _images(self.observations, chosen)
            if self.observations.ndim == 4
            else self.observations.index_select(0, chosen),
            self.actions.index_select(0, chosen),
            self.log_probs.index_select(0, chosen),
            self.values.index_select(0, chosen),
            self.advantages.index_select(0, chosen),
            self.returns.index_select(0, chosen),
            self.weights and self.weights.rows(chosen),
        )

    def minibatches(
        self, size: int, generator: np.random.Generator, *, normalise: bool = False
    ) -> Iterator[Samples]:
        """All rows once, shuffled; the last minibatch may be smaller.

        Shuffled as a whole and then cut: minibatches are views, nothing is gathered for each, and
        their advantages, if they are to have mean 0 and variance 1, are normalised together. Only
        of images no second copy is made.
        """
        order = torch.from_numpy(generator.permutation(len(self))).to(self.log_probs.device)
        shuffled = self.rows(order) if self.observations.ndim == 2 else None
        starts = list(range(0, len(self), size))
        # One row alone has no spread to be normalised by. Rollouts that leave one are refused by
        # the config; how many old rows a draw brings nobody knows beforehand.
        if self.weights is not None and len(starts) > 1 and len(self) - starts[-1] == 1:
            starts.pop()
        ends = [*starts[1:], len(self)]
        if shuffled is not None:
            if normalise:
                advantages = _normalised_in_parts(shuffled.advantages, starts)
                shuffled = replace(shuffled, advantages=advantages)
            yield from shuffled.cut([end - start for start, end in zip(starts, ends, strict=True)])
            return
        for start, end in zip(starts, ends, strict=True):
            chosen = self.rows(order[start:end])
            yield replace(chosen, advantages=normalised(chosen.advantages)) if normalise else chosen

    def shuffled_values(self, generator: np.random.Generator) -> tuple[Array, Array]:
        """Observations and returns in the order of `minibatches`: all that a critic asks for."""
        order = torch.from_numpy(generator.permutation(len(self)))
        columns = (self.observations, self.returns)
        observations, returns = (column.index_select(0, order).numpy() for column in columns)
        return observations, returns

    def cut(self, lengths: int | list[int]) -> Iterator[Samples]:
        """Neighbouring rows, as views: one call a column, where slices would take one each."""
        columns = (
            self.observations,
            self.actions,
            self.log_probs,
            self.values,
            self.advantages,
            self.returns,
        )
        weights = repeat(None) if self.weights is None else self.weights.cut(lengths)
        return map(Samples, *(torch.split(column, lengths) for column in columns), weights)


def _images(observations: Tensor, chosen: Tensor) -> Tensor:
    """Some images, with their channels last in memory, as convolutions want them."""
    return observations.movedim(1, -1).index_select(0, chosen).movedim(-1, 1)


def _normalised_in_parts(advantages: Tensor, starts: list[int]) -> Tensor:
    """Each part by itself; all are of one size, but for the last."""
    last = starts[-1]
    parts = [normalised(advantages[last:])]
    if last:
        parts.insert(0, normalised(advantages[:last].view(len(starts) - 1, -1)).flatten())
    return torch.cat(parts)


def samples(rollout: Rollout, advantages: Array, device: torch.device) -> Samples:
    """What is learned from a rollout and its advantages."""

    def flat(values: Array) -> Tensor:
        joined = values.reshape(rollout.length * rollout.copies, *values.shape[2:])
        return torch.from_numpy(joined).to(device)

    actions = flat(rollout.actions)
    return Samples(
        observations=flat(rollout.observations),
        actions=actions.float() if actions.is_floating_point() else actions.long(),
        log_probs=flat(rollout.log_probs),
        values=flat(rollout.values),
        advantages=flat(advantages),
        returns=flat(advantages + rollout.values),
    )


def _zeros(shape: tuple[int, ...], kind: DTypeLike) -> Array:
    """Images lie in memory with their channels last, which convolutions read ten times faster."""
    if len(shape) < 5:
        return np.zeros(shape, dtype=kind)
    return np.moveaxis(np.zeros((*shape[:2], *shape[3:], shape[2]), dtype=kind), -1, 2)
