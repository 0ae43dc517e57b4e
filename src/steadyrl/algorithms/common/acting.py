"""A trained policy, apart from its trainer: what it sees, its network, how outputs become actions.

Every family says in its `acting.py` how these come out of one of its checkpoints. All of it exists
twice, in NumPy for acting and as torch modules for export; a test holds one to the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import Tensor, nn

from steadyrl.environments.envs import to_bounds
from steadyrl.maths.normalize import LIMIT, RunningMoments
from steadyrl.maths.policies import Policy
from steadyrl.nets.as_module import as_module
from steadyrl.nets.dense import DenseNetwork, Network

Array = NDArray[Any]


class Head(Protocol):
    """How a network's outputs become actions."""

    def best(self, outputs: Array) -> Array:
        """The actions it would choose."""
        ...

    def draw(self, outputs: Array, generator: np.random.Generator) -> Array:
        """Actions as it explores."""
        ...

    def chosen(self, outputs: Tensor) -> Tensor:
        """The same as `best`, in torch."""
        ...


@dataclass(frozen=True)
class Inputs:
    """Observations as the network sees them: frames with channels first, or flat and normalised."""

    frames: bool = False
    colours_last: bool = False
    mean: Array | None = None
    deviation: Array | None = None
    limit: float | None = None

    def __call__(self, rows: Array) -> Array:
        """Of arrays whose first axis counts the observations."""
        if self.frames:
            return np.ascontiguousarray(rows.transpose(0, 3, 1, 2)) if self.colours_last else rows
        flat = rows.reshape(len(rows), -1)
        if self.mean is None:
            return np.ascontiguousarray(flat, dtype=np.float32)
        scaled = (flat - self.mean) / self.deviation
        if self.limit is not None:
            scaled = np.clip(scaled, -self.limit, self.limit)
        found: Array = scaled.astype(np.float32)
        return found


def inputs_from(
    moments: Mapping[str, Any] | None, *, frames: bool = False, colours_last: bool = False
) -> Inputs:
    """With the normaliser that a checkpoint holds, if its policy uses one."""
    if moments is None:
        return Inputs(frames, colours_last)
    found = RunningMoments()
    found.load_state_dict(moments)
    return Inputs(frames, colours_last, found.mean, found.deviation, LIMIT)


@dataclass(frozen=True)
class Acting:
    """A policy that acts on arrays of observations."""

    inputs: Inputs
    network: Network
    head: Head

    def best(self, rows: Array) -> Array:
        """The actions it would choose."""
        return self.head.best(self._outputs(rows))

    def draw(self, rows: Array, generator: np.random.Generator) -> Array:
        """Actions as it explores in training."""
        return self.head.draw(self._outputs(rows), generator)

    def module(self) -> nn.Module:
        """Observations to the actions it would choose, as one torch module."""
        return PolicyModule(self).eval()

    def _outputs(self, rows: Array) -> Array:
        seen = self.inputs(rows)
        if isinstance(self.network, DenseNetwork):
            return self.network.act(seen)
        outputs: Array = self.network.forward(torch.from_numpy(seen)).numpy()
        return outputs


class PolicyModule(nn.Module):
    """Rows of observations in, rows of actions out: normaliser, network and bounds included."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, acting: Acting) -> None:
        super().__init__()
        self._inputs, self._head = acting.inputs, acting.head
        self.network = as_module(acting.network)
        if acting.inputs.mean is not None:
            self.register_buffer("mean", _as_double(acting.inputs.mean))
            self.register_buffer("deviation", _as_double(acting.inputs.deviation))

    def forward(self, observations: Tensor) -> Tensor:
        """The actions that the policy would choose."""
        inputs = self._inputs
        if inputs.frames:
            seen = observations.permute(0, 3, 1, 2) if inputs.colours_last else observations
        elif inputs.mean is None:
            seen = observations.flatten(1).float()
        else:
            # In double precision, as in training: a large mean would eat the digits of a float.
            scaled = (observations.flatten(1).double() - self.mean) / self.deviation
            if inputs.limit is not None:
                scaled = scaled.clamp(-inputs.limit, inputs.limit)
            seen = scaled.float()
        return self._head.chosen(self.network(seen))


def _as_double(values: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(values, dtype=np.float64)))


@dataclass(frozen=True)
class Stretched:
    """Outputs of -1..1, stretched to the bounds of the space; explores with noise."""

    space: Box
    noise_std: float

    def best(self, outputs: Array) -> Array:
        """Stretched as they are."""
        return to_bounds(outputs.reshape(-1, *self.space.shape), self.space)

    def draw(self, outputs: Array, generator: np.random.Generator) -> Array:
        """With noise, held to -1..1."""
        noise = generator.normal(0.0, self.noise_std, outputs.shape)
        return self.best(np.clip(outputs + noise, -1.0, 1.0))

    def chosen(self, outputs: Tensor) -> Tensor:
        """As `best`, in torch."""
        low, high = torch.from_numpy(self.space.low), torch.from_numpy(self.space.high)
        shaped = outputs.reshape(-1, *self.space.shape)
        return low + 0.5 * (shaped + 1.0) * (high - low)


@dataclass(frozen=True)
class Drawn:
    """A distribution over actions: its most likely one, or one that is drawn."""

    policy: Policy
    extra: Array

    def best(self, outputs: Array) -> Array:
        """The most likely action."""
        return self.policy.for_environment(self.policy.best(outputs))

    def draw(self, outputs: Array, generator: np.random.Generator) -> Array:
        """As in training."""
        return self.policy.for_environment(self.policy.sample(outputs, self.extra, generator)[0])

    def chosen(self, outputs: Tensor) -> Tensor:
        """As `best`, in torch."""
        return self.policy.chosen(outputs)


def size_of(space: Any) -> int:
    """How many numbers an element of a space is made of."""
    return math.prod(space.shape or (1,))
