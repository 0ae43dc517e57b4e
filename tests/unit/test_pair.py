"""A policy and its value in one network: each side's gradient, the sum of both, and the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.on_policy.closer_look import examine, gradients
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import descend, put_gradients
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.seeding import Generators
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.maths.losses import normalised
from steadyrl.nets.as_module import as_module
from steadyrl.nets.convolutional import ConvNetwork
from steadyrl.nets.dense import ActingNetwork, DenseNetwork
from steadyrl.nets.pair import Shared
from steadyrl.run import Observers, resume, train

GAINS = (0.01, 0.01, 0.01, 1.0)


def _dense() -> ActingNetwork:
    return DenseNetwork((5, 16, 4), hidden="tanh", gain=GAINS, extra=2, seed=1)


def _convolutional() -> ActingNetwork:
    return ConvNetwork((2, 40, 40), 4, gain=GAINS, extra=2, seed=1)


def _rows(network: ActingNetwork) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    if isinstance(network, ConvNetwork):
        return torch.randint(0, 256, (6, 2, 40, 40), generator=generator, dtype=torch.uint8)
    return torch.randn(6, 5, generator=generator)


networks = pytest.mark.parametrize("make", [_dense, _convolutional])


@networks
def test_both_ends_of_one_network_are_seen_apart(make: Callable[[], ActingNetwork]) -> None:
    whole = make()
    pair, inputs = Shared(whole, 3), _rows(whole)
    expected = whole.forward(inputs)
    outputs, values = pair.forward(inputs)
    torch.testing.assert_close(outputs, expected[:, :3])
    torch.testing.assert_close(values, expected[:, 3])
    torch.testing.assert_close(pair.actor.forward(inputs), outputs)
    torch.testing.assert_close(pair.critic.forward(inputs)[:, 0], values)
    acted = torch.from_numpy(pair.actor.act(inputs.numpy()))
    torch.testing.assert_close(acted, outputs, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(as_module(pair.actor)(inputs), outputs, atol=1e-6, rtol=1e-5)


@networks
def test_the_gradient_is_the_sum_of_both_ends_gradients(
    make: Callable[[], ActingNetwork],
) -> None:
    whole = make()
    pair, inputs = Shared(whole, 3), _rows(whole)
    slopes = torch.linspace(-1, 1, 18).view(6, 3)
    value_slopes = torch.linspace(1, 2, 6)
    pair.forward(inputs)
    pair.actor.backward(slopes)
    of_policy = whole.gradient.clone()
    pair.critic.backward(value_slopes[:, None])
    of_value = whole.gradient.clone()
    pair.backward(slopes, value_slopes)
    assert of_policy.norm() > 0
    assert of_value.norm() > 0
    torch.testing.assert_close(whole.gradient, of_policy + of_value, atol=1e-5, rtol=1e-4)


@networks
def test_a_tangent_is_the_policys_alone(make: Callable[[], ActingNetwork]) -> None:
    whole = make()
    pair, inputs = Shared(whole, 3), _rows(whole)
    direction = torch.randn(len(whole.parameters), generator=torch.Generator().manual_seed(2))
    before = pair.actor.forward(inputs).clone()
    found = pair.actor.tangent(direction)
    whole.parameters.add_(direction, alpha=1e-4)
    moved = (pair.actor.forward(inputs) - before) / 1e-4
    torch.testing.assert_close(found, moved, atol=0.1, rtol=0.05)


@networks
def test_a_policy_begins_timid_and_a_value_does_not(make: Callable[[], ActingNetwork]) -> None:
    last = as_module(make())
    linear = [layer for layer in last.modules() if isinstance(layer, torch.nn.Linear)][-1]
    assert linear.weight.norm(dim=1).tolist() == pytest.approx([0.01, 0.01, 0.01, 1.0], rel=1e-4)


def _config(**overrides: Any) -> PPOConfig:
    values = {
        "algorithm": "ppo",
        "total_env_steps": 512,
        "rollout_length": 16,
        "minibatch_size": 32,
        "epochs": 2,
        "hidden_sizes": [16, 16],
        "shared_layers": True,
        "environment": {"id": "Pendulum-v1", "count": 4},
        "evaluation": {"every": 128, "episodes": 1},
        "checkpoints": {"every": 128},
    }
    config = parse_config(values, overrides=overrides)
    assert isinstance(config, PPOConfig)
    return config


def test_a_steps_gradient_is_autograds_of_the_whole_loss() -> None:
    config = _config(gradient_clip=None)
    training = prepare(config)
    next(training.steps)
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner)
    assert learner.last is not None
    data = replace(learner.last, advantages=normalised(learner.last.advantages))
    put_gradients(learner, data, config, 0.02, 1.0)
    (whole,) = learner.networks.trained
    module = as_module(whole)
    log_std = learner.actor.extra.clone().requires_grad_()
    found = module(data.observations)
    policy: Any = torch.distributions.Normal(found[:, :-1], log_std.exp())
    ratios = (policy.log_prob(data.actions).sum(1) - data.log_probs).exp()
    clipped = ratios.clamp(1 - config.clip_range, 1 + config.clip_range)
    gain = torch.minimum(ratios * data.advantages, clipped * data.advantages).mean()
    error = ((found[:, -1] - data.returns) ** 2).mean()
    entropy = policy.entropy().sum(1).mean()
    loss = -gain + config.value_weight * error - 0.02 * entropy
    loss.backward()
    expected = [weight.grad.flatten() for weight in module.parameters() if weight.grad is not None]
    assert log_std.grad is not None
    expected.append(log_std.grad)
    torch.testing.assert_close(whole.gradient, torch.cat(expected), atol=1e-4, rtol=1e-3)
    parts = config.replaced({"micro_batch_size": 10})
    descend(learner, data, parts, 0.0, 0.02)
    torch.testing.assert_close(whole.gradient, torch.cat(expected), atol=1e-4, rtol=1e-3)


def test_one_network_has_one_gradient_and_one_way_and_the_rest_is_told_as_ever() -> None:
    told = []
    for shared in (True, False):
        training = prepare(_config(shared_layers=shared))
        told.append(set(next(training.steps).signals))
    assert told[1] - told[0] == {"value.gradient_norm", "value.update_ratio"}
    assert told[0] <= told[1]


def test_a_closer_look_leaves_the_gradient_as_it_was() -> None:
    config = _config()
    training = prepare(config)
    next(training.steps)
    learner: Any = training.learner
    (whole,) = learner.networks.trained
    before = whole.gradient.clone()
    assert examine(learner)["gradient.first_layer_share"] > 0
    found = gradients(
        learner,
        config,
        training.world,  # type: ignore[arg-type]
        scheme="drawn",
        size=16,
        generator=Generators(0)["look"],
    )
    assert abs(found["actor"] - found["critic"]).max() > 0
    torch.testing.assert_close(whole.gradient, before)


def test_a_broken_run_with_one_network_goes_on_exactly(tmp_path: Path) -> None:
    train(_config(), tmp_path / "unbroken")

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 5:
            raise Killed

    with pytest.raises(Killed):
        train(_config(), tmp_path / "broken", observers=Observers(step=kill))
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
