"""What behaviour cloning must not forget, and how its batches are drawn."""

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
from steadyrl.algorithms.common.state import Stateful
from steadyrl.core.errors import DataError
from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.experience.demonstrations import Demonstrations, channels_first
from steadyrl.maths.likelihood import Terms, terms
from steadyrl.nets.adam import Adam

Rows = NDArray[np.int64]
SEEN_AT_ONCE = 4096  # rows of the data that a Step is measured on
IMAGES_AT_ONCE = 256


@dataclass(frozen=True)
class Jump:
    """The batch whose loss leapt, with the weights that it met."""

    step: int
    loss: float
    rows: Rows
    parameters: Tensor
    learning_rate: float
    surprise: float  # the gradient's square over Adam's mean of it


class BCLearner(Stateful):
    """Policy network, optimiser, data, generators and counters."""

    counters = ("updates", "steps", "evaluations", "seconds", "typical")

    def __init__(self, config: BCConfig, data: Demonstrations, device: torch.device) -> None:
        generator = np.random.default_rng(integer_seed(config.seed, "validation"))
        used, held = data.split(config.demonstrations.validation_share, generator)
        self.data, self.device = used, device
        self.components = used.actions.shape[1]
        if config.squash and np.abs(used.actions).max() > 1.0:
            raise DataError(
                f"squash = true: actions of {used.source} reach {np.abs(used.actions).max():.3g}, "
                "but tanh ends at 1. Scale them, or leave it off."
            )
        self._center, self._scale = _moments(used, normalise=config.normalize_observations)
        self.inputs = self._as_inputs(used.observations)
        self.actions = torch.from_numpy(used.actions).to(device)
        self.held_inputs = self._as_inputs(data.observations[held])
        self.held_actions = torch.from_numpy(data.actions[held]).to(device)
        self.action_variance = float(used.actions.var(axis=0).mean())
        self.network = policy_network(
            config,
            used.observations.shape[1:],
            self.components,
            images=used.images,
            device=device,
        )
        self.network.extra.fill_(math.log(config.std_start))
        self.optimizer = Adam(self.network)
        self.generators = Generators(config.seed)
        self.uses = torch.zeros(len(used), dtype=torch.int64)
        self.difficulty = np.ones(len(used))
        self.order: Rows = np.zeros(0, dtype=np.int64)  # what is left of an epoch
        self.updates = self.steps = self.evaluations = 0
        self.seconds = self.typical = 0.0
        self.bounds: Box | None = None  # of the environment's actions, if there is one
        # For a closer look after an alarm; not part of the state.
        self.before = self.network.parameters.clone()
        self.jump: Jump | None = None

    def _as_inputs(self, observations: NDArray[Any]) -> Tensor:
        if self.data.images:
            return torch.from_numpy(np.ascontiguousarray(observations)).to(self.device)
        scaled = (observations - self._center) / self._scale
        return torch.from_numpy(scaled.astype(np.float32)).to(self.device)

    def policy(self, observations: NDArray[Any], config: BCConfig) -> NDArray[np.float32]:
        """The mean actions."""
        shaped = observations.reshape(len(observations), -1)
        if self.data.images:
            shaped = channels_first(observations)
        outputs = self.network.forward(self._as_inputs(shaped))[:, : self.components]
        means = torch.tanh(outputs) if config.squash else outputs
        found: NDArray[np.float32] = means.cpu().numpy().copy()
        return found

    def parts(self, outputs: Tensor, config: BCConfig) -> tuple[Tensor, Tensor]:
        """Means and log deviations, as the network gives them."""
        if config.std == "state":
            return outputs[:, : self.components], outputs[:, self.components :]
        return outputs, self.network.extra

    def measure(
        self, inputs: Tensor, actions: Tensor, config: BCConfig, *, floor: float | None = None
    ) -> Terms:
        """What some of the data costs, with the weights as they are."""
        mean, log_std = self.parts(self.network.forward(inputs), config)
        return terms(mean, log_std, actions, floor=floor or config.std_floor, squash=config.squash)

    def draw(self, config: BCConfig) -> Rows:
        """The rows of the next batch."""
        generator, count = self.generators["batches"], len(self.data)
        if config.sampling == "replacement":
            return generator.integers(count, size=config.batch_size)
        if config.sampling == "difficulty":
            weights = np.cumsum(self.difficulty**config.difficulty_power)
            points = generator.random(config.batch_size) * weights[-1]
            found: Rows = np.minimum(np.searchsorted(weights, points), count - 1)
            return found
        if not len(self.order):
            self.order = generator.permutation(count)
        rows, self.order = self.order[: config.batch_size], self.order[config.batch_size :]
        return rows

    def stateful_parts(self) -> dict[str, Any]:
        """What has a state of its own."""
        return {
            "network": self.network,
            "optimizer": self.optimizer,
            "generators": self.generators,
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, as arrays and plain values."""
        return {
            **super().state_dict(),
            "data": self.data.fingerprint(),
            "uses": self.uses.numpy().copy(),
            "difficulty": self.difficulty.copy(),
            "order": self.order.copy(),
            # Of the data, so only for those who load the policy without them.
            "images": self.data.images,
            "center": np.asarray(self._center),
            "scale": np.asarray(self._scale),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        if state["data"] != self.data.fingerprint():
            raise DataError(
                f"{self.data.source} holds other transitions than the checkpoint was made with "
                f"({len(state['uses'])} then, {len(self.data)} now): the file was changed. Put it "
                "back, or start anew."
            )
        super().load_state_dict(state)
        self.uses = torch.from_numpy(np.array(state["uses"]))
        self.difficulty = np.array(state["difficulty"])
        self.order = np.array(state["order"])
        self.before, self.jump = self.network.parameters.clone(), None


def _moments(data: Demonstrations, *, normalise: bool) -> tuple[Any, Any]:
    """Mean and deviation of the training observations; components that never vary stay."""
    if data.images or not normalise:
        return 0.0, 1.0
    spread = data.observations.std(axis=0)
    return data.observations.mean(axis=0), np.where(spread > 1e-6, spread, 1.0)
