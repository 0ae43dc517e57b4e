"""A closer look at a DDPG learner than every Step can afford: what probes and the black box ask.

Only measures. Nothing here draws from training's random streams or changes what training will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.learner import DDPGLearner, as_inputs
from steadyrl.algorithms.ddpg.signals import td_errors
from steadyrl.nets.dense import Network

ROWS = 1024  # transitions looked at
RANK_MASS = 0.99  # share of the singular values' sum that counts as the features' rank


def examine(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """All measurements by name; those that make no sense yet are left out."""
    if not len(learner.last_indices):
        return {}
    calm = config.model_copy(update={"target_noise_std": 0.0})
    return {
        **_same_batch(learner, calm),
        **_ends(learner, calm),
        **_composition(learner),
        **_capacity(learner, calm),
        **_gradient(learner, calm),
    }


def _same_batch(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """The last batch's loss now and with the critic of one Step ago, and how it is spread."""
    batch = as_inputs(learner, learner.replay.fetch(learner.last_indices), config)
    wanted = ddpg.td_targets(learner, batch, config)
    squares = td_errors(learner, batch, wanted)[:, 0] ** 2
    heaviest = torch.sort(squares, descending=True).values[: max(1, len(squares) // 100)]
    found = {
        "batch.loss": float(squares.mean()),
        "batch.top_percent_share": float(heaviest.sum() / (squares.sum() + 1e-30)),
    }
    before = learner.critic_one_step_ago()
    if before is not None:
        critic = learner.critics[0]
        now = critic.parameters.clone()
        critic.parameters.copy_(before)
        found["batch.loss_one_step_ago"] = float((td_errors(learner, batch, wanted) ** 2).mean())
        critic.parameters.copy_(now)
    return found


def _ends(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """Targets of terminated transitions against their reward, over much of the buffer."""
    indices = learner.replay.newest(ROWS)
    batch = as_inputs(learner, learner.replay.fetch(indices), config)
    ended = batch.terminated[:, 0] > 0
    found = {"ends.terminated": float(ended.sum())}
    if bool(ended.any()):
        wrong = (ddpg.td_targets(learner, batch, config) - batch.rewards)[ended]
        found["ends.terminal_error"] = float(wrong.abs().mean())
    if learner.replay.truncations:
        cut = learner.replay.truncations_cut / learner.replay.truncations
        found["ends.truncated_as_terminated"] = cut
    return found


def _composition(learner: DDPGLearner) -> dict[str, float]:
    """How old and how repetitive the last batch was."""
    used = learner.last_indices
    ages = learner.replay.ages(used)
    return {
        "data.duplicate_share": 1.0 - len(np.unique(used)) / len(used),
        "data.age_median": float(np.median(ages)),
        "data.age_oldest": float(ages.max()),
        "data.buffer_share": len(used) / len(learner.replay),
    }


def _capacity(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """Effective rank of the critic's last features over what it could be on these states."""
    batch = as_inputs(learner, learner.replay.fetch(learner.replay.newest(256)), config)
    critic = learner.critics[0]
    critic.forward(batch.observations_actions)
    hidden = critic.hidden_activations()
    if not hidden:
        return {}
    features = hidden[-1].float()
    if not bool(torch.isfinite(features).all()) or not bool(features.any()):
        return {}
    values = torch.linalg.svdvals(features)
    mass = torch.cumsum(values, 0) / values.sum()
    rank = int((mass < RANK_MASS).sum()) + 1
    return {"capacity.rank_share": rank / min(features.shape)}


def _gradient(learner: DDPGLearner, config: DDPGConfig) -> dict[str, float]:
    """The critic's gradient on each half of the last batch, and how it is spread over layers."""
    critic = learner.critics[0]
    kept = critic.gradient.clone()
    halves = []
    for indices in np.array_split(learner.last_indices, 2):
        if not len(indices):
            return {}
        batch = as_inputs(learner, learner.replay.fetch(indices), config)
        targets = ddpg.td_targets(learner, batch, config)
        errors = critic.forward(batch.observations_actions) - targets
        critic.backward(errors * (2.0 / len(indices)))
        halves.append([part.clone() for part in critic.layer_gradients()])
    critic.gradient.copy_(kept)
    first, second = (torch.cat(parts) for parts in halves)
    squares = [float(((a + b) ** 2).sum()) for a, b in zip(*halves, strict=True)]
    cosine = torch.nn.functional.cosine_similarity(first, second, dim=0)
    whole = sum(squares) + 1e-30
    return {
        "gradient.halves_cosine": float(cosine),
        "gradient.first_layer_share": squares[0] / whole,
        "gradient.last_layer_share": squares[-1] / whole,
    }


def last_batch(learner: DDPGLearner) -> dict[str, NDArray[Any]]:
    """The transitions of the last batch as they were stored, part by part."""
    batch = learner.replay.fetch(learner.last_indices)
    parts = {
        "observation": batch.observations,
        "action": batch.actions,
        "next_observation": batch.next_observations,
        "reward": batch.rewards[:, 0],
        "terminated": batch.terminated[:, 0],
    }
    return {name: part.cpu().numpy().copy() for name, part in parts.items()}


def tensors(learner: DDPGLearner, config: DDPGConfig) -> Iterator[tuple[str, Tensor]]:
    """What an update goes through, in its order."""
    calm = config.model_copy(update={"target_noise_std": 0.0})
    if len(learner.last_indices):
        batch = as_inputs(learner, learner.replay.fetch(learner.last_indices), config)
        yield "batch rewards", batch.rewards
        yield "batch observations", batch.observations
        yield "batch actions", batch.actions
        yield "batch next observations", batch.next_observations
    networks: dict[str, Network] = {"critic": learner.critics[0], "actor": learner.actor}
    for name, network in networks.items():
        yield f"{name} gradient", network.gradient
        yield f"{name} weights", network.parameters
    yield "target critic weights", learner.target_critics[0].parameters
    if len(learner.last_indices):
        batch = as_inputs(learner, learner.replay.fetch(learner.last_indices), config)
        yield "TD targets", ddpg.td_targets(learner, batch, calm)
