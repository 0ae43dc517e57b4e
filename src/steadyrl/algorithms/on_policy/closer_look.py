"""A closer look at an on-policy learner: what probes, the black box and `noise` ask.

Only measures. Nothing here changes what training will do, except that a learner fresh from a
checkpoint collects a rollout to look at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.maths.losses import normalised
from steadyrl.nets.dense import ActingNetwork

Floats = NDArray[np.float64]


def gradients(
    learner: OnPolicyLearner,
    config: OnPolicyConfig,
    envs: Envs,
    *,
    scheme: str,
    size: int,
    generator: np.random.Generator,
) -> dict[str, Floats]:
    """Policy and value gradient of one batch: drawn from the rollout, or one stretch in time.

    Advantages are normalised over the whole rollout first: per batch, each would get another scale.
    """
    if learner.last is None:
        with_advantages(learner, collect(learner, envs, config), config)
    data = learner.last
    assert data is not None
    if scheme == "drawn":
        rows = generator.integers(len(data), size=size)
    else:  # rows lie (time, environment): a stretch of one environment is `count` rows apart
        start = int(generator.integers(max(1, len(data) - size * envs.count)))
        rows = np.arange(start, min(start + size * envs.count, len(data)), envs.count)
    whole = normalised(data.advantages)
    chosen = torch.from_numpy(rows)
    return _gradients(learner, data.rows(chosen), whole[chosen])


def _gradients(learner: OnPolicyLearner, part: Samples, advantages: Tensor) -> dict[str, Floats]:
    actor, critic = learner.actor, learner.critic
    kept = [(network, network.gradient.clone()) for network in learner.networks.trained]
    outputs = actor.forward(part.observations)
    weights = -advantages / len(part)
    slopes, free = learner.policy.gradient(outputs, actor.extra, part.actions, weights, 0.0)
    actor.backward(slopes)
    actor.extra_gradient.copy_(free)
    found = {"actor": actor.gradient.double().cpu().numpy()}  # before the critic's takes its place
    values = critic.forward(part.observations)[:, 0]
    critic.backward(((values - part.returns) * (2.0 / len(part)))[:, None])
    critic.extra_gradient.zero_()
    found["critic"] = critic.gradient.double().cpu().numpy()
    for network, gradient in kept:
        network.gradient.copy_(gradient)
    return found


def examine(learner: OnPolicyLearner) -> dict[str, float]:
    """All measurements by name; those that make no sense yet are left out."""
    data = learner.last
    if data is None or len(data) < 4:
        return {}
    advantages = normalised(data.advantages)
    halves = torch.arange(len(data)).chunk(2)
    first, second = (
        _gradients(learner, data.rows(rows), advantages[rows])["actor"] for rows in halves
    )
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    layers = _layer_shares(learner.actor, first + second)
    return {
        "gradient.halves_cosine": float(first @ second) / size if size else math.nan,
        "gradient.first_layer_share": layers[0],
        "gradient.last_layer_share": layers[-1],
    }


def _layer_shares(network: ActingNetwork, gradient: Floats) -> list[float]:
    lengths = [len(part) for part in network.layer_gradients()]
    squares, start = [], 0
    for length in lengths:
        squares.append(float((gradient[start : start + length] ** 2).sum()))
        start += length
    whole = sum(squares) + 1e-30
    return [square / whole for square in squares]


def last_batch(learner: OnPolicyLearner) -> dict[str, NDArray[Any]]:
    """The newest rollout, part by part.

    Images are left out: a rollout of them is as large as a checkpoint, and rarely the culprit.
    """
    data = learner.last
    if data is None:
        return {}
    parts = {} if learner.images else {"observation": data.observations}
    parts |= {
        "action": data.actions,
        "log_probability": data.log_probs,
        "value": data.values,
        "advantage": data.advantages,
        "return": data.returns,
    }
    return {name: part.cpu().numpy().copy() for name, part in parts.items()}


def tensors(learner: OnPolicyLearner) -> Iterator[tuple[str, Tensor]]:
    """What an update goes through, in its order."""
    data = learner.last
    if data is not None:
        yield "observations", data.observations
        yield "returns", data.returns
        yield "advantages", data.advantages
        yield "log-probabilities", data.log_probs
    for name, network in zip(("policy", "value"), learner.networks.trained, strict=False):
        yield f"{name} gradient", network.gradient
        yield f"{name} weights", network.parameters
