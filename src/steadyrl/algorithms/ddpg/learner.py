"""What a DDPG run must not forget: networks, targets, optimisers, replay, streams, counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.common.state import Stateful
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.networks import make_actor, make_critic
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.seeding import Generators
from steadyrl.environments.envs import Envs
from steadyrl.environments.spaces import told
from steadyrl.experience.replay import Batch, PrioritisedReplayBuffer, ReplayBuffer
from steadyrl.maths.normalize import RunningMoments
from steadyrl.nets.adam import Adam
from steadyrl.nets.dense import norm

Floats = NDArray[np.float32]


class DDPGLearner(Stateful):
    """Networks, targets, optimisers, replay, normaliser, generators and counters."""

    counters = ("updates", "steps", "evaluations", "seconds", "reward_abs_max", "target_spread")

    def __init__(self, config: DDPGConfig, envs: Envs, device: torch.device) -> None:
        self.action_space = continuous_actions(envs)
        observation_size = int(np.prod(envs.observation_space.shape or (1,)))
        action_size = int(np.prod(self.action_space.shape))
        precision = config.compute.precision
        names = ("critic", "twin critic") if config.twin_critics else ("critic",)
        inputs = observation_size + action_size
        shape = envs.observation_space.shape or (1,)
        self.actor = make_actor(config, shape, action_size, device=device, precision=precision)
        self.critics = [
            make_critic(config, inputs, name, device=device, precision=precision) for name in names
        ]
        self.target_actor = self.actor.clone()
        self.past_actor = self.actor.clone()
        self.target_critics = [critic.clone() for critic in self.critics]
        self.actor_optimizer = Adam(self.actor)
        self.critic_optimizers = [Adam(critic) for critic in self.critics]
        self.replay = _make_replay(config, observation_size, action_size, device)
        self.moments = RunningMoments((observation_size,))
        self.generators = Generators(config.seed)
        self.updates = 0
        self.steps = 0  # Steps yielded
        self.evaluations = 0
        self.seconds = 0.0
        self.reward_abs_max = 0.0
        self.target_spread = 1.0  # standard deviation of the last batch's targets
        self.last_indices = np.empty(0, dtype=np.int64)  # of the batch drawn last
        self._remembered = self._weights()
        self._one_step_ago: dict[str, Tensor] | None = None

    def policy(self, observations: NDArray[Any], config: DDPGConfig) -> Floats:
        """Actions of -1..1 without exploration."""
        flat = observations.reshape(len(observations), -1)
        if config.normalize_observations:
            return self.actor.act(self.moments.normalize(flat))
        return self.actor.act(np.asarray(flat, dtype=np.float32))

    def changes_since_last_look(self, states: Tensor) -> dict[str, float]:
        """Relative change of the weights, and whether the actor's change was for the better."""
        now, before = self._weights(), self._remembered
        self._remembered, self._one_step_ago = now, before

        def relative(name: str) -> float:
            return norm(now[name] - before[name]) / (norm(now[name]) + 1e-12)

        self.past_actor.parameters.copy_(before["actor"])
        critic = self.critics[0]
        new = critic.forward(torch.cat((states, self.actor.forward(states)), dim=1)).mean()
        old = critic.forward(torch.cat((states, self.past_actor.forward(states)), dim=1)).mean()
        return {
            "critic.update_ratio": relative("critic"),
            "actor.update_ratio": relative("actor"),
            "target.change": relative("target"),
            "actor.improvement": float(new) - float(old),
        }

    def critic_one_step_ago(self) -> Tensor | None:
        """The first critic's weights where the last Step began, if it was seen beginning."""
        if self._one_step_ago is None:
            return None
        return self._one_step_ago["critic"][: len(self.critics[0].parameters)]

    def _weights(self) -> dict[str, Tensor]:
        return {
            "critic": torch.cat([critic.parameters for critic in self.critics]),
            "actor": self.actor.parameters.clone(),
            "target": self.target_critics[0].parameters.clone(),
        }

    def stateful_parts(self) -> dict[str, Any]:
        """What has a state of its own."""
        parts: dict[str, Any] = {
            "actor": self.actor,
            "target_actor": self.target_actor,
            "actor_optimizer": self.actor_optimizer,
            "replay": self.replay,
            "moments": self.moments,
            "generators": self.generators,
        }
        for index, critic in enumerate(self.critics):
            parts[f"critic_{index}"] = critic
            parts[f"target_critic_{index}"] = self.target_critics[index]
            parts[f"critic_optimizer_{index}"] = self.critic_optimizers[index]
        return parts

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, as arrays and plain values."""
        return {**super().state_dict(), "last_indices": self.last_indices}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        super().load_state_dict(state)
        self.last_indices = np.asarray(state["last_indices"])
        self._remembered, self._one_step_ago = self._weights(), None


def as_inputs(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Batch:
    """The batch with its observations normalised in place, if the config says so."""
    if config.normalize_observations:
        for columns in (batch.observations, batch.next_observations):
            columns.copy_(torch.from_numpy(learner.moments.normalize(columns.cpu().numpy())))
    return batch


def _make_replay(
    config: DDPGConfig, observation_size: int, action_size: int, device: torch.device
) -> ReplayBuffer:
    sizes = (config.buffer_size, observation_size, action_size)
    try:
        if config.replay == "uniform":
            return ReplayBuffer(*sizes, device=device)
        alpha, beta = config.priority_alpha, config.priority_beta
        return PrioritisedReplayBuffer(*sizes, device=device, alpha=alpha, beta=beta)
    except MemoryError as error:
        raise ConfigError(
            f"buffer_size = {config.buffer_size:,}: so many transitions do not fit into memory "
            f"({error}). Use a smaller one."
        ) from None


def continuous_actions(envs: Envs) -> Box:
    """The action space, refused unless it is a bounded Box."""
    actions = envs.action_space
    if not isinstance(actions, Box) or not np.isfinite([actions.low, actions.high]).all():
        raise EnvironmentFault(
            f"environment '{envs.id}' has action space {told(actions)}: DDPG needs continuous "
            "actions with finite bounds (a bounded Box)."
        )
    return actions
