"""Gradients of a DDPG learner on chosen batches, for measuring their noise. Changes nothing."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.ddpg import td_targets
from steadyrl.algorithms.ddpg.learner import DDPGLearner, as_inputs
from steadyrl.experience.replay import Batch

Floats = NDArray[np.float64]
Scheme = Literal["drawn", "trajectory"]


def gradients(
    learner: DDPGLearner,
    config: DDPGConfig,
    copies: int,
    *,
    scheme: Scheme,
    size: int,
    generator: np.random.Generator,
) -> dict[str, Floats]:
    """Critic and actor gradient of one batch: drawn as training draws, or one stretch in time.

    Neighbours in time resemble each other. A batch of them says less than its size promises, and
    only whole stretches show how much less.
    """
    calm = config.model_copy(update={"target_noise_std": 0.0})  # looking must not draw noise
    replay = learner.replay
    if scheme == "drawn":
        batch = replay.sample(size, generator)
    else:
        oldest = replay.newest(len(replay))
        start = generator.integers(max(1, len(replay) - size * copies))
        batch = replay.fetch(oldest[start : start + size * copies : copies])
    batch = as_inputs(learner, batch, calm)
    kept = {net: net.gradient.clone() for net in (learner.critics[0], learner.actor)}
    found = {
        "critic": _critic_gradient(learner, batch, calm),
        "actor": _actor_gradient(learner, batch),
    }
    for network, gradient in kept.items():
        network.gradient.copy_(gradient)
    return found


def _critic_gradient(learner: DDPGLearner, batch: Batch, config: DDPGConfig) -> Floats:
    critic = learner.critics[0]
    targets = td_targets(learner, batch, config)
    errors = critic.forward(batch.observations_actions) - targets
    if batch.weights is not None:
        errors = errors * batch.weights
    critic.backward(errors * (2.0 / len(errors)))
    return critic.gradient.double().cpu().numpy()


def _actor_gradient(learner: DDPGLearner, batch: Batch) -> Floats:
    critic, actor = learner.critics[0], learner.actor
    actions = actor.forward(batch.observations)
    values = critic.forward(torch.cat((batch.observations, actions), dim=1))
    downhill = torch.full_like(values, -1.0 / len(values))
    columns = batch.observations.shape[1]
    slopes = critic.backward(downhill, parameters=False, inputs_from=columns)
    assert slopes is not None
    actor.backward(slopes)
    return actor.gradient.double().cpu().numpy()
