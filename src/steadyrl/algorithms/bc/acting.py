"""The clone of a checkpoint, apart from its trainer and its demonstrations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.bc.network import policy_network
from steadyrl.algorithms.common.acting import Acting, Inputs
from steadyrl.core.errors import CheckpointError
from steadyrl.environments.spaces import Spaces
from steadyrl.experience.demonstrations import has_channels_last

Array = NDArray[Any]


@dataclass(frozen=True)
class Cloned:
    """Mean actions within the bounds of the space; explores with the learned deviation."""

    space: Box
    squash: bool
    floor: float
    extra: Array  # log deviations, where they are not the network's

    def best(self, outputs: Array) -> Array:
        """The mean."""
        mean = self._parts(outputs)[0]
        return self._within(np.tanh(mean) if self.squash else mean)

    def draw(self, outputs: Array, generator: np.random.Generator) -> Array:
        """Mean plus noise."""
        mean, log_std = self._parts(outputs)
        noise = generator.standard_normal(mean.shape)
        found = mean + np.exp(np.maximum(log_std, math.log(self.floor))) * noise
        return self._within(np.tanh(found) if self.squash else found)

    def chosen(self, outputs: Tensor) -> Tensor:
        """As `best`, in torch."""
        mean = outputs[:, : self._components]
        shaped = (torch.tanh(mean) if self.squash else mean).reshape(-1, *self.space.shape)
        low, high = torch.from_numpy(self.space.low), torch.from_numpy(self.space.high)
        return torch.minimum(torch.maximum(shaped, low), high)

    @property
    def _components(self) -> int:
        return math.prod(self.space.shape)

    def _parts(self, outputs: Array) -> tuple[Array, Array]:
        count = self._components
        return outputs[:, :count], self.extra if len(self.extra) else outputs[:, count:]

    def _within(self, actions: Array) -> Array:
        shaped = actions.reshape(-1, *self.space.shape)
        return np.clip(shaped, self.space.low, self.space.high).astype(self.space.dtype)


def acting(config: BCConfig, spaces: Spaces, state: Mapping[str, Any]) -> Acting:
    """What a checkpoint's learner would do."""
    if "center" not in state:
        raise CheckpointError(
            "this run was cloned by an older version, whose checkpoints do not say how "
            "observations were normalised. Train it again."
        )
    space = spaces.action
    assert isinstance(space, Box)
    shape, frames = tuple(spaces.seen.shape or ()), bool(state["images"])
    colours_last = frames and has_channels_last(shape)
    shape = (shape[-1], *shape[:-1]) if colours_last else shape
    network = policy_network(config, shape, math.prod(space.shape), images=frames)
    network.load_state_dict(state["parts"]["network"])
    scaling = {} if frames else {"mean": state["center"], "deviation": state["scale"]}
    inputs = Inputs(frames=frames, colours_last=colours_last, **scaling)
    head = Cloned(space, config.squash, config.std_floor, network.extra.numpy().copy())
    return Acting(inputs, network, head)
