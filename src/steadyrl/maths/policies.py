"""Stochastic policies on a network's outputs, with every gradient written out.

`outputs` are what the network puts out, `extra` its free parameters: logits for discrete actions
and for several choices at once (many_choices.py); means, and log standard deviations as the free
parameters, for continuous ones.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.core.errors import EnvironmentFault
from steadyrl.maths.categorical import Categorical as Categorical
from steadyrl.maths.many_choices import ManyCategoricals, Switches

LOG_2PI = math.log(2.0 * math.pi)
Array = NDArray[Any]


class Policy(Protocol):
    """A family of distributions over actions."""

    outputs: int  # the network's
    extra: int  # free parameters
    largest_entropy: float  # that its actions can have; infinite for continuous ones

    def sample(
        self, outputs: Array, extra: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Actions and their log-probabilities; NumPy, for acting."""
        ...

    def best(self, outputs: Array) -> Array:
        """The most likely actions."""
        ...

    def chosen(self, outputs: Tensor) -> Tensor:
        """The most likely actions as the environment takes them, in torch: for exported models."""
        ...

    def log_prob(self, outputs: Tensor, extra: Tensor, actions: Tensor) -> Tensor:
        """Of given actions, one per row."""
        ...

    def entropy(self, outputs: Tensor, extra: Tensor) -> Tensor:
        """One per row."""
        ...

    def gradient(
        self,
        outputs: Tensor,
        extra: Tensor,
        actions: Tensor,
        log_prob_weights: Tensor,
        entropy_weight: float,
    ) -> tuple[Tensor, Tensor]:
        """d/d(outputs, extra) of sum_i w_i log p(a_i) + entropy_weight * sum_i H_i."""
        ...

    def divergence(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Tensor:
        """KL(old || new), one per row."""
        ...

    def fisher(self, outputs: Tensor, extra: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """The Fisher matrix of each row's distribution times tangents of (outputs, extra)."""
        ...

    def for_environment(self, actions: Array) -> Array:
        """Actions as the environment takes them."""
        ...


class DiagonalGaussian:
    """Continuous actions: the network's means, state-independent standard deviations.

    The action that is stored is the one that was drawn. Only what the environment gets is clipped
    to its bounds: storing the clipped one would make the policy's own probability of it wrong.
    """

    largest_entropy = math.inf

    def __init__(self, space: Box) -> None:
        self._space = space
        self.outputs = self.extra = int(np.prod(space.shape))

    def sample(
        self, outputs: Array, extra: Array, generator: np.random.Generator
    ) -> tuple[Array, Array]:
        """Mean plus noise."""
        noise = generator.standard_normal(outputs.shape, dtype=np.float32)
        log_prob = -0.5 * (noise**2).sum(axis=1) - extra.sum() - 0.5 * LOG_2PI * self.outputs
        return outputs + np.exp(extra) * noise, log_prob

    def best(self, outputs: Array) -> Array:
        """The mean."""
        return outputs

    def chosen(self, outputs: Tensor) -> Tensor:
        """The same in torch, clipped to the bounds."""
        low, high = torch.from_numpy(self._space.low), torch.from_numpy(self._space.high)
        shaped = outputs.reshape(-1, *self._space.shape)
        return torch.minimum(torch.maximum(shaped, low), high)

    def log_prob(self, outputs: Tensor, extra: Tensor, actions: Tensor) -> Tensor:
        """Sum over the components."""
        scaled = (actions - outputs) * torch.exp(-extra)
        return -0.5 * (scaled * scaled).sum(1) - extra.sum() - 0.5 * LOG_2PI * self.outputs

    def entropy(self, outputs: Tensor, extra: Tensor) -> Tensor:
        """The same in every state."""
        value = extra.sum() + 0.5 * (1.0 + LOG_2PI) * self.outputs
        return value.expand(len(outputs))

    def gradient(
        self,
        outputs: Tensor,
        extra: Tensor,
        actions: Tensor,
        log_prob_weights: Tensor,
        entropy_weight: float,
    ) -> tuple[Tensor, Tensor]:
        """W (a - m) / s^2 for the means, w ((a - m)^2 / s^2 - 1) + c for the log deviations."""
        inverse = torch.exp(-extra)
        scaled = (actions - outputs) * inverse
        weights = log_prob_weights[:, None]
        free = (weights * (scaled * scaled - 1.0)).sum(0) + entropy_weight * len(outputs)
        return weights * scaled * inverse, free

    def divergence(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> Tensor:
        """In closed form."""
        (mean, log_std), (other, other_log_std) = old, new
        ratio = torch.exp(2.0 * (log_std - other_log_std))
        shift = ((mean - other) * torch.exp(-other_log_std)) ** 2
        return (other_log_std - log_std + 0.5 * (ratio + shift - 1.0)).sum(1)

    def fisher(self, outputs: Tensor, extra: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """V / s^2 for the means, 2 w for the log deviations (of every row)."""
        return v * torch.exp(-2.0 * extra), 2.0 * w * len(outputs)

    def for_environment(self, actions: Array) -> Array:
        """Clipped to the bounds."""
        clipped = np.clip(actions, self._space.low.reshape(-1), self._space.high.reshape(-1))
        return clipped.reshape(-1, *self._space.shape).astype(self._space.dtype)


def policy_for(space: Space[Any], environment: str) -> Policy:
    """The policy an action space needs."""
    if isinstance(space, Discrete):
        return Categorical(int(space.n), int(space.start))
    if isinstance(space, MultiDiscrete):
        return ManyCategoricals(space)
    if isinstance(space, MultiBinary):
        return Switches(space)
    if isinstance(space, Box):
        return DiagonalGaussian(space)
    raise EnvironmentFault(
        f"environment '{environment}' has action space {space}: Box, Discrete, MultiDiscrete or "
        "MultiBinary is needed."
    )
