"""Steps of small networks in NumPy: the same as torch's, wherever they are taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.on_policy import few_rows
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import descend
from steadyrl.algorithms.on_policy.trpo import put_value_gradient
from steadyrl.core.presets import parse_config
from steadyrl.experience.rollout import Samples
from steadyrl.nets.dense import DenseNetwork
from steadyrl.nets.few_rows import few_rows_of

LARGE = 300  # units with which few rows are no longer few


def _config(**changes: Any) -> PPOConfig:
    values = {
        "algorithm": "ppo",
        "total_env_steps": 10_000,
        "rollout_length": 32,
        "minibatch_size": 64,
        "hidden_sizes": [16, 24],
        "environment": {"id": "CartPole-v1", "count": 4},
        "evaluation": {"episodes": 0},
        **changes,
    }
    config = parse_config(values)
    assert isinstance(config, PPOConfig)
    return config


def _learner(config: PPOConfig) -> tuple[OnPolicyLearner, Samples]:
    training = prepare(config)
    for _ in range(3):  # ratios other than 1
        next(training.steps)
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner)
    assert learner.last is not None
    return learner, learner.last


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("value_clip", [None, 0.05])
@pytest.mark.parametrize("rows", [64, 100])
def test_a_step_in_numpy_is_torchs_step(
    task: str, activation: str, value_clip: float | None, rows: int
) -> None:
    environment = {"id": task, "count": 4}
    config = _config(environment=environment, activation=activation, value_clip=value_clip)
    learner, data = _learner(config)
    minibatch = data.rows(torch.arange(rows))
    networks = few_rows.small(learner, minibatch, config)
    assert networks is not None
    if rows == 100:  # as products that are cut into pieces
        networks.actor._piece = networks.critic._piece = 40
    before = learner.state_dict()
    found = []
    parts: list[Samples | few_rows.Rows] = [minibatch]
    parts += few_rows.as_rows(networks, [minibatch])
    for part in parts:
        learner.load_state_dict(before)
        descent = descend(learner, part, config, 1e-3, 0.02)
        norms = torch.tensor(descent.norms)
        weights = [learner.actor.parameters.clone(), learner.critic.parameters.clone()]
        gradients = [learner.actor.gradient.clone(), learner.critic.gradient.clone()]
        found.append([norms, *weights, *gradients, *descent.seen.tensors()[:5]])
    for theirs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_critics_gradient_in_numpy_is_torchs() -> None:
    learner, data = _learner(_config())
    few = few_rows_of(learner.critic, len(data))
    assert few is not None
    expected = put_value_gradient(learner.critic, data), learner.critic.gradient.clone()
    learner.critic.gradient.zero_()
    errors = few.put_value_gradient(data.observations.numpy(), data.returns.numpy())
    found = torch.from_numpy(errors), learner.critic.gradient
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_small_networks_learn_in_numpy_and_large_ones_in_torch() -> None:
    small, large = _config(), _config(hidden_sizes=[LARGE, LARGE])
    for config, expected in ((small, True), (large, False)):
        learner, data = _learner(config)
        assert (few_rows.small(learner, data, config) is not None) is expected


def test_what_numpy_cannot_do_is_left_to_torch() -> None:
    config = _config(micro_batch_size=16)
    learner, data = _learner(config)
    assert few_rows.small(learner, data, config) is None
    assert DenseNetwork((3, 7, 2), precision="bf16").few is None


def test_passes_in_pieces_are_the_whole_pass() -> None:
    network = DenseNetwork((3, 7, 2), hidden="tanh", seed=1)
    inputs, slopes = torch.randn(10, 3), torch.randn(10, 2)
    outputs = network.forward(inputs)
    network.backward(slopes)
    whole = network.gradient.clone()
    few = network.few
    assert few is not None
    few._piece = 4
    np.testing.assert_allclose(few.forward(inputs.numpy()), outputs.numpy(), rtol=1e-5, atol=1e-6)
    few.backward(slopes.numpy(), inputs.numpy())
    torch.testing.assert_close(network.gradient, whole, rtol=1e-4, atol=1e-6)
