"""Adam on a network's flat parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steadyrl.nets.dense import Network, norm

# The moments of a weight that meets no gradient any more (its ReLU is dead) shrink with every step,
# and below 1e-38 numbers become subnormal, which takes a processor longer: with half of them so, a
# step over 67,000 weights takes 63 instead of 35 µs on Zen 3, and some others are far slower. What
# is smaller than TINY is forgotten before: EVERY steps of a shrinking mean do not lead there, and
# beside epsilon it never counted.
TINY, EVERY = 1e-32, 128


class Adam:
    """Adam (Kingma & Ba, 2015) on a network's flat parameters; measures the gradient norm.

    One fused pass over the vectors, without torch.optim's bookkeeping, which costs more than it.
    """

    FIRST_DECAY = 0.9

    def __init__(self, network: Network, epsilon: float = 1e-8) -> None:
        self._epsilon = epsilon
        self._second_decay = 0.999
        self._network = network
        self._steps = 0
        self._count = torch.zeros((), device=network.device)
        # Its memory, where NumPy can write it: a fifth of what a call of torch's takes.
        self._count_here = self._count.numpy() if network.device.type == "cpu" else None
        self._mean = torch.zeros_like(network.parameters)
        self._square = torch.zeros_like(network.parameters)

    def step(
        self,
        learning_rate: float,
        clip: float | None = None,
        *,
        size: float | None = None,
        second_decay: float = 0.999,
    ) -> float:
        """One step along the network's gradient; returns the gradient's norm before clipping.

        `size` is that norm, if the caller has measured it.
        """
        gradient = self._network.gradient
        self._second_decay = second_decay
        # Measured before clipping: afterwards every explosion looks like the clip value.
        size = norm(gradient) if size is None else size
        if clip is not None and size > clip:
            gradient.mul_(clip / size)
        step_together((self,), learning_rate)
        return size

    def _counted(self) -> Tensor:
        """How many steps there are, this one among them."""
        self._steps += 1
        if self._count_here is None:
            self._count.fill_(self._steps)
        else:
            self._count_here.fill(self._steps)
        return self._count

    def surprise(self) -> float:
        """The current gradient's square over its running mean: above 1 Adam lags behind."""
        held = self._square / (1.0 - self._second_decay ** max(1, self._steps))
        gradient = self._network.gradient
        return float((gradient * gradient).sum() / (held.sum() + 1e-30))

    def state_dict(self) -> dict[str, Any]:
        """The moments and the step count."""
        mean, square = self._mean.cpu().numpy().copy(), self._square.cpu().numpy().copy()
        return {"steps": self._steps, "mean": mean, "square": square}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self._steps = int(state["steps"])
        self._mean.copy_(torch.from_numpy(np.asarray(state["mean"])))
        self._square.copy_(torch.from_numpy(np.asarray(state["square"])))

    def _forget_traces(self) -> None:
        """Every now and then, before moments become subnormal."""
        if self._steps % EVERY == 0:
            for moment in (self._mean, self._square):
                moment.copy_(torch.hardshrink(moment, TINY))


def step_together(optimizers: Sequence[Adam], learning_rate: float) -> None:
    """One step of each along its network's gradient as it stands, in one call for all."""
    first = optimizers[0]
    torch._fused_adam_(
        [one._network.parameters for one in optimizers],
        [one._network.gradient for one in optimizers],
        [one._mean for one in optimizers],
        [one._square for one in optimizers],
        [],
        [one._counted() for one in optimizers],
        lr=learning_rate,
        beta1=first.FIRST_DECAY,
        beta2=first._second_decay,
        weight_decay=0.0,
        eps=first._epsilon,
        amsgrad=False,
        maximize=False,
    )
    for one in optimizers:
        one._forget_traces()
