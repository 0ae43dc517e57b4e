"""Policies that choose several things at once: numbers of several choices, or switches.

The choices are independent given the state, so log-probabilities, entropies and divergences add up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import MultiBinary, MultiDiscrete
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from steadyrl.maths.categorical import Categorical

Array = NDArray[Any]


class ManyCategoricals:
    """One discrete choice beside another, each by logits of its own."""

    extra = 0

    def __init__(self, space: MultiDiscrete) -> None:
        self._shape, self._kind = space.shape, space.dtype
        self._start = space.start.reshape(-1)
        self._parts = [Categorical(int(count)) for count in space.nvec.reshape(-1)]
        self._sizes = [part.outputs for part in self._parts]
        self._edges = np.cumsum(self._sizes)[:-1]
        self.outputs = sum(self._sizes)
        self.largest_entropy = sum(math.log(size) for size in self._sizes)

    def sample(
        self, outputs: Array, extra: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Each choice by itself."""
        logits = np.split(outputs, self._edges, axis=1)
        drawn = [
            part.sample(some, extra, generator)
            for part, some in zip(self._parts, logits, strict=True)
        ]
        log_probs: Array = np.sum([log_prob for _, log_prob in drawn], axis=0)
        return np.stack([actions for actions, _ in drawn], axis=1), log_probs

    def best(self, outputs: Array) -> Array:
        """The largest logit of each choice."""
        logits = np.split(outputs, self._edges, axis=1)
        return np.stack([some.argmax(axis=1) for some in logits], axis=1)

    def chosen(self, outputs: Tensor) -> Tensor:
        """The same in torch, as the environment takes it."""
        found = torch.stack([some.argmax(1) for some in self._split(outputs)], dim=1)
        return (found + torch.from_numpy(self._start)).reshape(-1, *self._shape)

    def log_prob(self, outputs: Tensor, extra: Tensor, actions: Tensor) -> Tensor:
        """The choices' sum."""
        parts = zip(self._parts, self._split(outputs), actions.unbind(1), strict=True)
        return _sum(part.log_prob(some, extra, taken) for part, some, taken in parts)

    def entropy(self, outputs: Tensor, extra: Tensor) -> Tensor:
        """The choices' sum."""
        parts = zip(self._parts, self._split(outputs), strict=True)
        return _sum(part.entropy(some, extra) for part, some in parts)

    def gradient(
        self,
        outputs: Tensor,
        extra: Tensor,
        actions: Tensor,
        log_prob_weights: Tensor,
        entropy_weight: float,
    ) -> tuple[Tensor, Tensor]:
        """Each choice's own."""
        parts = zip(self._parts, self._split(outputs), actions.unbind(1), strict=True)
        slopes = [
            part.gradient(some, extra, taken, log_prob_weights, entropy_weight)[0]
            for part, some, taken in parts
        ]
        return torch.cat(slopes, dim=1), extra

    def divergence(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Tensor:
        """The choices' sum."""
        parts = zip(self._parts, self._split(old[0]), self._split(new[0]), strict=True)
        return _sum(part.divergence((a, old[1]), (b, new[1])) for part, a, b in parts)

    def fisher(self, outputs: Tensor, extra: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """Each choice's own: a matrix of blocks."""
        parts = zip(self._parts, self._split(outputs), self._split(v), strict=True)
        return torch.cat([part.fisher(o, extra, t, w)[0] for part, o, t in parts], dim=1), w

    def for_environment(self, actions: Array) -> Array:
        """Counted from where the space counts, in its shape."""
        return (actions + self._start).reshape(-1, *self._shape).astype(self._kind)

    def _split(self, outputs: Tensor) -> tuple[Tensor, ...]:
        return torch.split(outputs, self._sizes, dim=1)


class Switches:
    """Any number of switches, each on with the probability of its logit."""

    extra = 0

    def __init__(self, space: MultiBinary) -> None:
        self._shape, self._kind = space.shape, space.dtype
        self.outputs = math.prod(space.shape)
        self.largest_entropy = self.outputs * math.log(2.0)

    def sample(
        self, outputs: Array, extra: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Each switch by itself."""
        on = np.exp(-np.logaddexp(0.0, -outputs))
        actions = (generator.random(outputs.shape) < on).astype(np.int64)
        return actions, (actions * outputs - np.logaddexp(0.0, outputs)).sum(axis=1)

    def best(self, outputs: Array) -> Array:
        """On where that is more likely than off."""
        found: Array = (outputs > 0.0).astype(np.int64)
        return found

    def chosen(self, outputs: Tensor) -> Tensor:
        """The same in torch, as the environment takes it."""
        return (outputs > 0.0).to(torch.int8).reshape(-1, *self._shape)

    def log_prob(self, outputs: Tensor, extra: Tensor, actions: Tensor) -> Tensor:
        """The switches' sum."""
        return (actions.to(outputs.dtype) * outputs - softplus(outputs)).sum(1)

    def entropy(self, outputs: Tensor, extra: Tensor) -> Tensor:
        """The switches' sum."""
        return (softplus(outputs) - outputs * torch.sigmoid(outputs)).sum(1)

    def gradient(
        self,
        outputs: Tensor,
        extra: Tensor,
        actions: Tensor,
        log_prob_weights: Tensor,
        entropy_weight: float,
    ) -> tuple[Tensor, Tensor]:
        """W (a - p) - c l p (1 - p)."""
        on = torch.sigmoid(outputs)
        slope = log_prob_weights[:, None] * (actions.to(outputs.dtype) - on)
        if entropy_weight:
            slope = slope - entropy_weight * outputs * on * (1.0 - on)
        return slope, extra

    def divergence(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Tensor:
        """The switches' sum."""
        before, after = old[0], new[0]
        gap = torch.sigmoid(before) * (before - after) - softplus(before) + softplus(after)
        return gap.sum(1)

    def fisher(self, outputs: Tensor, extra: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """P (1 - p) v."""
        on = torch.sigmoid(outputs)
        return on * (1.0 - on) * v, w

    def for_environment(self, actions: Array) -> Array:
        """In the shape of the space."""
        return actions.reshape(-1, *self._shape).astype(self._kind)


def _sum(parts: Any) -> Tensor:
    return torch.stack(list(parts)).sum(0)
