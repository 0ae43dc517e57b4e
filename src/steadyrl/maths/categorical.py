"""Discrete actions, with every gradient written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


class Categorical:
    """Discrete actions by logits."""

    extra = 0

    def __init__(self, actions: int, start: int = 0) -> None:
        self.outputs, self._start = actions, start
        self.largest_entropy = math.log(actions)
        self._seen = self._kept = torch.empty(0)
        self._version = -1

    def _logs(self, outputs: Tensor) -> Tensor:
        """Log-probabilities of all actions, kept until the outputs are written to again."""
        if outputs is not self._seen or outputs._version != self._version:
            self._seen, self._version = outputs, outputs._version
            self._kept = torch.log_softmax(outputs, 1)
        return self._kept

    def sample(
        self, outputs: Array, extra: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """By the inverse of the cumulated probabilities."""
        # Reductions by name: the arrays' methods spend more on the way to them.
        logits = outputs - np.maximum.reduce(outputs, 1, keepdims=True)
        reached = np.exp(logits).cumsum(axis=1)
        whole = reached[:, -1:]
        actions = np.add.reduce(reached < generator.random(whole.shape) * whole, 1, dtype=np.int64)
        return actions, logits[np.arange(len(actions)), actions] - np.log(whole[:, 0])

    def best(self, outputs: Array) -> Array:
        """The largest logit's."""
        chosen: Array = outputs.argmax(axis=1)
        return chosen

    def chosen(self, outputs: Tensor) -> Tensor:
        """The same in torch, as the environment takes it."""
        return outputs.argmax(1) + self._start

    def log_prob(self, outputs: Tensor, extra: Tensor, actions: Tensor) -> Tensor:
        """Log-softmax at the action."""
        return self._logs(outputs).gather(1, actions[:, None])[:, 0]

    def entropy(self, outputs: Tensor, extra: Tensor) -> Tensor:
        """-sum p log p."""
        logs = self._logs(outputs)
        return -(logs.exp() * logs).sum(1)

    def gradient(
        self,
        outputs: Tensor,
        extra: Tensor,
        actions: Tensor,
        log_prob_weights: Tensor,
        entropy_weight: float,
    ) -> tuple[Tensor, Tensor]:
        """W (one-hot - p) - c p (log p + H)."""
        logs = self._logs(outputs)
        probabilities = logs.exp()
        slope = probabilities * -log_prob_weights[:, None]
        slope.scatter_add_(1, actions[:, None], log_prob_weights[:, None])
        if entropy_weight:
            entropy = -(probabilities * logs).sum(1, keepdim=True)
            slope.sub_(entropy_weight * probabilities * (logs + entropy))
        return slope, extra

    def divergence(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Tensor:
        """Sum p_old (log p_old - log p_new)."""
        before, after = torch.log_softmax(old[0], 1), torch.log_softmax(new[0], 1)
        return (before.exp() * (before - after)).sum(1)

    def fisher(self, outputs: Tensor, extra: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """(diag(p) - p p^T) v."""
        probabilities = self._logs(outputs).exp()
        weighted = probabilities * v
        return weighted - probabilities * weighted.sum(1, keepdim=True), w

    def for_environment(self, actions: Array) -> Array:
        """Counted from where the space counts."""
        return actions + self._start
