"""A policy and its value function, as two networks or as one that ends in both.

Two never disturb each other. One costs half as much, and what the value function learns of a
picture the policy can use at once: players of Atari games share (Mnih et al., 2016). Its last
output is the value; `actor` and `critic` are views that show each side only what is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.nets.dense import ActingNetwork, Network


class Pair(Protocol):
    """What a learner asks of both together."""

    actor: ActingNetwork
    critic: Network

    @property
    def trained(self) -> tuple[Network, ...]:
        """The networks that hold weights."""
        ...

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The policy's outputs, and a value for each row."""
        ...

    def backward(self, slopes: Tensor, value_slopes: Tensor) -> None:
        """Gradients for the last `forward`, into those that are trained."""
        ...


class Separate:
    """Two networks."""

    def __init__(self, actor: ActingNetwork, critic: Network) -> None:
        self.actor, self.critic = actor, critic

    @property
    def trained(self) -> tuple[Network, ...]:
        """Both."""
        return (self.actor, self.critic)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """A pass through each."""
        return self.actor.forward(inputs), self.critic.forward(inputs)[:, 0]

    def backward(self, slopes: Tensor, value_slopes: Tensor) -> None:
        """Back through each."""
        self.actor.backward(slopes)
        self.critic.backward(value_slopes[:, None])


class Shared:
    """One network with an output more than the policy has."""

    def __init__(self, whole: ActingNetwork, outputs: int) -> None:
        self._whole = whole
        self.actor: ActingNetwork = PolicyView(whole)
        self.critic: Network = ValueView(whole, outputs)

    @property
    def trained(self) -> tuple[Network, ...]:
        """The one."""
        return (self._whole,)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """One pass for both."""
        found = self._whole.forward(inputs)
        return found[:, :-1], found[:, -1]

    def backward(self, slopes: Tensor, value_slopes: Tensor) -> None:
        """One pass back: the sum of both gradients."""
        self._whole.backward(torch.cat((slopes, value_slopes[:, None]), dim=1))


class _View:
    """A network that passes for another's part: same weights, same gradient."""

    def __init__(self, whole: ActingNetwork) -> None:
        self.whole, self.device = whole, whole.device
        self.parameters, self.gradient = whole.parameters, whole.gradient
        self.extra, self.extra_gradient = whole.extra, whole.extra_gradient

    def state_dict(self) -> dict[str, NDArray[np.float32]]:
        """The whole network's weights."""
        return self.whole.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put the whole network's weights back."""
        self.whole.load_state_dict(state)


class PolicyView(_View):
    """All outputs but the last."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs of shape (rows, outputs), float32."""
        return self.whole.forward(inputs)[:, :-1]

    def backward(self, output_gradient: Tensor) -> None:
        """The gradient of the policy's outputs alone."""
        nothing = output_gradient.new_zeros((len(output_gradient), 1))
        self.whole.backward(torch.cat((output_gradient, nothing), dim=1))

    def tangent(self, direction: Tensor) -> Tensor:
        """Derivative of the policy's outputs along a direction in parameter space."""
        return self.whole.tangent(direction)[:, :-1]

    def act(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Outputs for a few observations, without keeping anything."""
        return np.ascontiguousarray(self.whole.act(observations)[:, :-1])

    def layer_gradients(self) -> list[Tensor]:
        """Each layer's part of the flat gradient, first layer first."""
        return self.whole.layer_gradients()


class ValueView(_View):
    """The last output, behind those of the policy."""

    def __init__(self, whole: ActingNetwork, outputs: int) -> None:
        super().__init__(whole)
        self._outputs = outputs

    def forward(self, inputs: Tensor) -> Tensor:
        """Values of shape (rows, 1), float32."""
        return self.whole.forward(inputs)[:, -1:]

    def backward(self, output_gradient: Tensor) -> None:
        """The gradient of the value alone."""
        nothing = output_gradient.new_zeros((len(output_gradient), self._outputs))
        self.whole.backward(torch.cat((nothing, output_gradient), dim=1))
