"""PPO: every written-out gradient against autograd, advantages by hand, invariants, resume."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, MultiBinary, MultiDiscrete, Text

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.descents import Descent, Pass, describe
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.ppo import descend, put_gradients
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.experience.rollout import Samples
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.maths.advantages import advantages
from steadyrl.maths.losses import clipped_surrogate, describe_ratios, normalised, value_loss
from steadyrl.maths.many_choices import ManyCategoricals, Switches
from steadyrl.maths.normalize import RewardScale
from steadyrl.maths.policies import Categorical, DiagonalGaussian, Policy, policy_for
from steadyrl.nets.dense import DenseNetwork
from steadyrl.run import resume, train
from steadyrl.store.reader import RunReader

Make = Callable[..., PPOConfig]


@pytest.fixture
def ppo_config() -> Make:
    """A PPO config that trains in a second, with dotted overrides."""

    def make(**overrides: Any) -> PPOConfig:
        values = {
            "algorithm": "ppo",
            "total_env_steps": 512,
            "rollout_length": 16,
            "minibatch_size": 32,
            "epochs": 2,
            "hidden_sizes": [16, 16],
            "environment": {"id": "CartPole-v1", "count": 4},
            "evaluation": {"every": 128, "episodes": 2},
            "checkpoints": {"every": 128},
        }
        dotted = {name.replace("__", "."): value for name, value in overrides.items()}
        config = parse_config(values, overrides=dotted)
        assert isinstance(config, PPOConfig)
        return config

    return make


GAUSSIAN = DiagonalGaussian(Box(-1.0, 1.0, (2,), dtype=np.float32))
MANY = ManyCategoricals(MultiDiscrete([3, 2]))
SWITCHES = Switches(MultiBinary(4))
POLICIES: list[Policy] = [Categorical(3), GAUSSIAN, MANY, SWITCHES]
NAMES = ["categorical", "gaussian", "many", "switches"]


def _drawn(policy: Policy, rows: int = 7) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn(rows, policy.outputs, generator=generator)
    extra = torch.randn(policy.extra, generator=generator) * 0.3
    actions = torch.randn(rows, policy.outputs, generator=generator)
    if isinstance(policy, Categorical):
        actions = torch.arange(rows) % policy.outputs
    elif isinstance(policy, ManyCategoricals):
        actions = torch.stack((torch.arange(rows) % 3, torch.arange(rows) % 2), dim=1)
    elif isinstance(policy, Switches):
        actions = (actions > 0).float()
    return outputs, extra, actions


def _reference(policy: Policy, outputs: torch.Tensor, extra: torch.Tensor) -> Any:
    if policy.extra:
        base = torch.distributions.Normal(outputs, extra.exp().expand_as(outputs))
        return torch.distributions.Independent(base, 1)
    if isinstance(policy, Switches):
        return torch.distributions.Independent(torch.distributions.Bernoulli(logits=outputs), 1)
    return torch.distributions.Categorical(logits=outputs)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_probabilities_entropy_and_divergence_are_torchs(policy: Policy) -> None:
    if isinstance(policy, ManyCategoricals):
        pytest.skip("torch has none such; see the next test")
    outputs, extra, actions = _drawn(policy)
    reference = _reference(policy, outputs, extra)
    torch.testing.assert_close(
        policy.log_prob(outputs, extra, actions), reference.log_prob(actions)
    )
    torch.testing.assert_close(policy.entropy(outputs, extra), reference.entropy())
    other = (outputs + 0.3, extra - 0.2)
    expected = torch.distributions.kl_divergence(reference, _reference(policy, *other))
    torch.testing.assert_close(policy.divergence((outputs, extra), other), expected)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_a_policys_gradient_is_autograds(policy: Policy) -> None:
    outputs, extra, actions = _drawn(policy)
    outputs.requires_grad_()
    extra.requires_grad_()
    weights = torch.linspace(-1, 1, len(outputs))
    objective = (weights * policy.log_prob(outputs, extra, actions)).sum()
    objective = objective + 0.7 * policy.entropy(outputs, extra).sum()
    objective.backward()  # type: ignore[no-untyped-call]
    slopes, free = policy.gradient(outputs.detach(), extra.detach(), actions, weights, 0.7)
    torch.testing.assert_close(slopes, outputs.grad)
    if policy.extra:
        torch.testing.assert_close(free, extra.grad)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_fisher_product_is_the_divergences_curvature(policy: Policy) -> None:
    outputs, extra, _ = _drawn(policy, rows=3)
    flat = torch.cat((outputs.flatten(), extra)).double()
    split = outputs.numel()

    def divergence(new: torch.Tensor) -> torch.Tensor:
        old = (flat[:split].view_as(outputs), flat[split:])
        return policy.divergence(old, (new[:split].view_as(outputs), new[split:])).sum()

    curvature = torch.autograd.functional.hessian(divergence, flat)  # type: ignore[no-untyped-call]
    tangent = torch.linspace(-1, 1, len(flat)).double()
    v, w = policy.fisher(
        outputs.double(), extra.double(), tangent[:split].view_as(outputs), tangent[split:]
    )
    torch.testing.assert_close(torch.cat((v.flatten(), w)), curvature @ tangent)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_drawn_actions_come_with_their_own_probability(policy: Policy) -> None:
    outputs, extra, _ = _drawn(policy, rows=500)
    generator = np.random.default_rng(0)
    actions, logs = policy.sample(outputs.numpy(), extra.numpy(), generator)
    expected = policy.log_prob(outputs, extra, torch.from_numpy(actions))
    np.testing.assert_allclose(logs, expected.numpy(), atol=1e-5)


def test_discrete_actions_are_drawn_as_often_as_their_probability() -> None:
    logits = np.log(np.array([[0.2, 0.5, 0.3]], dtype=np.float32)).repeat(20_000, axis=0)
    actions, _ = Categorical(3).sample(logits, np.zeros(0), np.random.default_rng(0))
    assert np.bincount(actions) / len(actions) == pytest.approx([0.2, 0.5, 0.3], abs=0.015)


def test_the_environment_gets_clipped_actions_and_learning_the_raw_ones() -> None:
    given = GAUSSIAN.for_environment(np.array([[3.0, -0.5]], dtype=np.float32))
    assert given.tolist() == [[1.0, -0.5]]


def test_the_surrogates_gradient_is_autograds() -> None:
    generator = torch.Generator().manual_seed(0)
    logs = (torch.randn(50, generator=generator) * 0.4).requires_grad_()
    old, gains = torch.zeros(50), torch.randn(50, generator=generator)
    ratios = logs.exp()
    loss = -torch.minimum(ratios * gains, ratios.clamp(0.8, 1.2) * gains).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    found = clipped_surrogate(logs.detach(), old, gains, 0.2)
    assert logs.grad is not None
    torch.testing.assert_close(-found.weights / 50, logs.grad)
    torch.testing.assert_close(found.log_ratios, logs.detach())
    said = describe_ratios(found.log_ratios[None], gains[None], 0.2)
    assert said["policy.loss"] == [pytest.approx(float(loss.detach()))]
    ratios = ratios.detach()
    apart = (ratios - 1.0).abs() > 0.2
    assert said["policy.clip_fraction"] == [pytest.approx(float(apart.float().mean()))]
    assert 0 < said["policy.clip_fraction"][0] < 1
    assert said["policy.ratio_max"] == [pytest.approx(float(logs.detach().abs().max()))]
    assert said["kl"] == [pytest.approx(float((ratios - 1.0 - logs.detach()).mean()))]


def test_what_is_not_counted_says_nothing_of_the_ratios() -> None:
    logs, gains = torch.tensor([[0.1, 5.0, -0.3]]), torch.tensor([[1.0, 7.0, -2.0]])
    counted = torch.tensor([[True, False, True]])
    some = describe_ratios(logs, gains, 0.2, counted)
    alone = describe_ratios(logs[:, ::2], gains[:, ::2], 0.2)
    assert some.keys() == alone.keys()
    for name in some:
        assert some[name] == pytest.approx(alone[name]), name


@pytest.mark.parametrize("clip", [None, 0.2])
def test_the_value_losss_gradient_is_autograds(clip: float | None) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(50, generator=generator).requires_grad_()
    old = values.detach() + 0.3 * torch.randn(50, generator=generator)
    returns = torch.randn(50, generator=generator)
    loss = (values - returns) ** 2
    if clip is not None:
        bounded = old + (values - old).clamp(-clip, clip)
        loss = torch.maximum(loss, (bounded - returns) ** 2)
    loss.mean().backward()  # type: ignore[no-untyped-call]
    errors, slopes = value_loss(values.detach(), old, returns, clip)
    torch.testing.assert_close(errors**2, loss.detach())
    torch.testing.assert_close(slopes * (2.0 / 50), values.grad)


def _gae(**changes: Any) -> np.ndarray:
    settings: dict[str, Any] = {
        "rewards": np.array([[1.0], [2.0], [3.0]], dtype=np.float32),
        "values": np.array([[0.5], [0.6], [0.7]], dtype=np.float32),
        "last_values": np.array([10.0], dtype=np.float32),
        "terminated": np.zeros((3, 1), dtype=bool),
        "truncated": np.zeros((3, 1), dtype=bool),
        "cut_values": np.zeros((3, 1), dtype=np.float32),
        "gamma": 0.9,
        "decay": 0.5,
    }
    return advantages(**{**settings, **changes})[:, 0]


def _at(time: int) -> np.ndarray:
    flags = np.zeros((3, 1), dtype=bool)
    flags[time] = True
    return flags


def test_gae_without_decay_is_the_one_step_surprise() -> None:
    assert _gae(decay=0.0) == pytest.approx([1 + 0.54 - 0.5, 2 + 0.63 - 0.6, 3 + 9 - 0.7])


def test_gae_with_full_decay_is_discounted_return_minus_value() -> None:
    total = 1 + 0.9 * (2 + 0.9 * (3 + 0.9 * 10))
    assert _gae(decay=1.0)[0] == pytest.approx(total - 0.5)


def test_no_reward_leaks_past_an_end() -> None:
    rich = np.array([[1.0], [2.0], [1000.0]], dtype=np.float32)
    for ends in ("terminated", "truncated"):
        assert _gae(rewards=rich, **{ends: _at(1)})[0] == _gae(**{ends: _at(1)})[0]


def test_a_terminated_step_has_no_future_and_a_truncated_one_has_its_own() -> None:
    assert _gae(terminated=_at(1))[1] == pytest.approx(2 - 0.6)
    cut = np.full((3, 1), 4.0, dtype=np.float32)
    assert _gae(truncated=_at(1), cut_values=cut)[1] == pytest.approx(2 + 0.9 * 4 - 0.6)


def test_reward_scale_is_the_deviation_of_the_discounted_return() -> None:
    scale, generator = RewardScale(2), np.random.default_rng(0)
    running, seen = np.zeros(2), []
    for step in range(300):
        rewards = generator.normal(3.0, 5.0, 2)
        ended = np.array([step % 50 == 49, False])
        running = 0.9 * running + rewards
        seen.append(running.copy())
        scaled = scale.scale(rewards, ended, 0.9)
        running[ended] = 0.0
    deviation = np.concatenate(seen).std()
    assert scale.deviation == pytest.approx(deviation)
    assert scaled == pytest.approx(np.clip(rewards / deviation, -10, 10))


@pytest.mark.parametrize("hidden", ["relu", "tanh"])
def test_a_network_with_free_parameters_is_held_to_autograd(hidden: Any) -> None:
    network = DenseNetwork((3, 8, 8, 2), hidden=hidden, gain=1.0, extra=2, seed=1)
    inputs = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    flat = network.parameters.clone().requires_grad_()
    current, offset = inputs, 0
    for index, (i, o) in enumerate(itertools.pairwise((3, 8, 8, 2))):
        weight = flat[offset : offset + i * o].view(o, i)
        offset += i * o
        current = current @ weight.t() + flat[offset : offset + o]
        offset += o
        if index < 2:
            current = torch.relu(current) if hidden == "relu" else torch.tanh(current)
    outputs = network.forward(inputs)
    torch.testing.assert_close(outputs, current.detach())
    np.testing.assert_allclose(network.act(inputs.numpy()), outputs.numpy(), atol=1e-6)
    slopes = torch.linspace(-1, 1, 10).view(5, 2)
    (current * slopes).sum().backward()  # type: ignore[no-untyped-call]
    network.backward(slopes)
    assert flat.grad is not None
    torch.testing.assert_close(network.gradient[:-2], flat.grad[:-2])


def _learner(config: PPOConfig) -> tuple[OnPolicyLearner, Samples]:
    training = prepare(config)
    next(training.steps)
    learner = training.learner
    assert isinstance(learner, OnPolicyLearner)
    assert learner.last is not None
    return learner, learner.last


def test_an_accumulated_gradient_is_the_whole_one(ppo_config: Make) -> None:
    config = ppo_config(entropy_weight=0.01, value_clip=0.2)
    learner, data = _learner(config)
    data = replace(data, advantages=normalised(data.advantages))
    put_gradients(learner, data, config, 0.01, 1.0)
    whole = [learner.actor.gradient.clone(), learner.critic.gradient.clone()]
    before = learner.actor.parameters.clone()
    parts = config.replaced({"micro_batch_size": 10, "gradient_clip": None})
    descent = descend(learner, data, parts, 0.0, 0.01)
    torch.testing.assert_close(learner.actor.gradient, whole[0], atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(learner.critic.gradient, whole[1], atol=1e-6, rtol=1e-4)
    assert descent.norms[0] == pytest.approx(float(whole[0].norm()), rel=1e-4)
    torch.testing.assert_close(learner.actor.parameters, before)  # learning rate 0


def _pass(rows: int, seed: int, fresh: torch.Tensor | None = None) -> Descent:
    generator = torch.Generator().manual_seed(seed)
    logs, gains, errors = torch.randn(3, rows, generator=generator)
    outputs = torch.randn(rows, 3, generator=generator)
    return Descent(Pass(outputs, torch.empty(0), logs, gains, errors, fresh), (1.0, 2.0))


def test_steps_told_together_say_what_each_would_say() -> None:
    steps = [_pass(8, 0), _pass(8, 1), _pass(5, 2)]  # the last minibatch is smaller
    together = describe(steps, Categorical(3), 0.2)
    each = [describe([step], Categorical(3), 0.2) for step in steps]
    for name, values in together.items():
        assert values == pytest.approx([one[name][0] for one in each], rel=1e-5), name
    assert together["policy.entropy_share"][0] == pytest.approx(
        together["policy.entropy"][0] / math.log(3)
    )


def test_a_step_on_old_samples_alone_has_no_ratios_of_fresh_ones() -> None:
    old, mixed = torch.zeros(8, dtype=torch.bool), torch.arange(8) < 4
    said = describe([_pass(8, 0, old), _pass(8, 1, mixed), _pass(8, 2, ~old)], Categorical(3), 0.2)
    assert len(said["kl"]) == 2
    assert len(said["aged.clip_fraction"]) == 2
    assert len(said["value.loss"]) == 3


@pytest.mark.parametrize(("rows", "size"), [(24, 8), (20, 8), (6, 8)])
def test_minibatches_have_advantages_of_mean_0_and_variance_1_each_by_itself(
    rows: int, size: int
) -> None:
    generator = torch.Generator().manual_seed(0)
    logs, values, gained, returns = torch.randn(4, rows, generator=generator)
    seen = torch.randn(rows, 4, generator=generator)
    data = Samples(seen, torch.arange(rows), logs, values, gained, returns)
    parts = list(data.minibatches(size, np.random.default_rng(0), normalise=True))
    assert sum(len(part) for part in parts) == rows
    for part in parts:
        torch.testing.assert_close(part.advantages, normalised(gained[part.actions]))


def test_a_critic_meets_rows_in_the_order_of_minibatches() -> None:
    seen, returns = torch.arange(40.0).view(10, 4), torch.arange(10.0)
    data = Samples(seen, returns, returns, returns, returns, returns)
    parts = list(data.minibatches(4, np.random.default_rng(3)))
    observations, wanted = data.shuffled_values(np.random.default_rng(3))
    np.testing.assert_array_equal(observations, torch.cat([p.observations for p in parts]))
    np.testing.assert_array_equal(wanted, torch.cat([part.returns for part in parts]))


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_before_the_first_step_every_ratio_is_one(
    task: str, ppo_config: Make, tmp_path: Path
) -> None:
    config = ppo_config(environment__id=task, normalize_observations=True, normalize_rewards=True)
    train(config, tmp_path / "run")
    steps = list(RunReader.open(tmp_path / "run").steps())
    assert len(steps) == 8
    for step in steps:
        assert step.signals["policy.first_ratio_error"] < 1e-4
        assert step.signals["policy.kl"] >= 0
        assert step.signals["policy.epochs"] == 2


def test_a_target_kl_ends_the_update_early(ppo_config: Make, tmp_path: Path) -> None:
    config = ppo_config(target_kl=1e-6, epochs=10, learning_rate=1e-2)
    train(config, tmp_path / "run")
    steps = list(RunReader.open(tmp_path / "run").steps())
    assert all(step.signals["policy.epochs"] <= 2 for step in steps)


def test_schedules_are_what_they_say(ppo_config: Make) -> None:
    config = ppo_config(
        learning_rate_schedule="linear",
        learning_rate=1.0,
        entropy_weight=0.05,
        entropy_decay=0.5,
        entropy_floor=0.01,
    )
    assert [config.learning_rate_at(9, p) for p in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]
    assert [config.entropy_weight_at(n) for n in (0, 1, 9)] == [0.05, 0.025, 0.01]


def test_a_killed_run_goes_on_exactly(ppo_config: Make, tmp_path: Path) -> None:
    config = ppo_config(normalize_observations=True, normalize_rewards=True, micro_batch_size=8)
    train(config, tmp_path / "whole")

    class Killed(Exception):
        pass

    def kill(step: Step) -> None:
        if step.index == 5:
            raise Killed

    from steadyrl.run import Observers

    with pytest.raises(Killed):
        train(config, tmp_path / "cut", observers=Observers(step=kill))
    resume(tmp_path / "cut")
    assert not compare_runs(tmp_path / "whole", tmp_path / "cut").differences


def test_a_minibatch_of_one_is_refused(ppo_config: Make) -> None:
    with pytest.raises(ConfigError, match="a minibatch of one"):
        ppo_config(minibatch_size=63)


def test_many_choices_are_as_likely_as_all_of_them_one_by_one() -> None:
    outputs, extra, actions = _drawn(MANY)
    logits = torch.split(outputs, [3, 2], dim=1)
    parts: list[Any] = [torch.distributions.Categorical(logits=some) for some in logits]
    logs = sum(part.log_prob(taken) for part, taken in zip(parts, actions.unbind(1), strict=True))
    torch.testing.assert_close(MANY.log_prob(outputs, extra, actions), logs)
    entropy = parts[0].entropy() + parts[1].entropy()
    torch.testing.assert_close(MANY.entropy(outputs, extra), entropy)
    assert MANY.largest_entropy == pytest.approx(np.log(6))
    assert float(MANY.entropy(torch.zeros(1, 5), extra)) == pytest.approx(MANY.largest_entropy)


@pytest.mark.parametrize("policy", [MANY, SWITCHES], ids=NAMES[2:])
def test_drawn_choices_have_the_probability_they_say(policy: Policy) -> None:
    outputs = np.repeat(_drawn(policy, rows=1)[0].numpy(), 20_000, axis=0)
    extra = np.zeros(0, np.float32)
    actions, log_probs = policy.sample(outputs, extra, np.random.default_rng(0))
    expected = policy.log_prob(torch.from_numpy(outputs), torch.zeros(0), torch.from_numpy(actions))
    np.testing.assert_allclose(log_probs, expected.numpy(), rtol=1e-4, atol=1e-5)
    kinds, counts = np.unique(actions, axis=0, return_counts=True)
    for kind, count in zip(kinds, counts, strict=True):
        likely = float(np.exp(log_probs[(actions == kind).all(axis=1)][0]))
        assert count / len(actions) == pytest.approx(likely, abs=0.02)


def test_other_action_spaces_are_refused() -> None:
    with pytest.raises(EnvironmentFault, match="Box, Discrete, MultiDiscrete or"):
        policy_for(Text(3), "mine")


def test_ppo_learns_to_balance(ppo_config: Make, tmp_path: Path) -> None:
    config = ppo_config(
        total_env_steps=12_000,
        environment__count=8,
        rollout_length=32,
        minibatch_size=256,
        epochs=20,
        learning_rate=1e-3,
        gamma=0.98,
        gae_decay=0.8,
        hidden_sizes=[64, 64],
        evaluation__every=4_000,
        evaluation__episodes=5,
    )
    summary, _ = train(config, tmp_path / "run")
    assert summary.best_return is not None
    assert summary.best_return > 100  # a random policy lasts about 20 steps
