"""Probes ask a real learner: what `examine` measures, and whether the answer is the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.learner import DDPGLearner
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.core.presets import parse_config
from steadyrl.experiments.fault_bench.substitutions import SUBSTITUTIONS
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.probes import ask_all
from steadyrl.stability.rules import Case
from steadyrl.stability.window import Window

Make = Callable[..., DDPGConfig]


@pytest.fixture
def trained(small_config: Make) -> Callable[..., tuple[Training, DDPGLearner]]:
    """DDPG after some Steps on episodes that end, or are cut off, after five steps."""

    def make(*, truncate: bool = False, **overrides: Any) -> tuple[Training, DDPGLearner]:
        config = small_config(
            environment__id="test/Countdown-v0",
            environment__settings={"length": 5, "truncate": truncate},
            evaluation__episodes=0,
            **{"total_env_steps": 120, **overrides},
        )
        training = prepare(config)
        for _ in training.steps:
            pass
        learner = training.learner
        assert isinstance(learner, DDPGLearner)
        return training, learner

    return make


def _said(training: Training, probe: str) -> str:
    return ask_all(training.examine())[probe].statement


def _another_step(training: Training, **changes: Any) -> None:
    """One more Step, with settings changed before it."""
    steps = training.world.steps_taken + training.live.now.log_every
    for name, value in {"total_env_steps": steps, **changes}.items():
        training.live.change(name, value, step=0, because="test")
    next(training.steps)


def _rewards(learner: DDPGLearner, change: Callable[[Any], None]) -> None:
    """Change rewards in the learner's memory."""
    state = learner.replay.state_dict()
    change(state["rows"][:, -2])
    learner.replay.load_state_dict(state)


# Q501


def test_a_batch_that_large_steps_made_harder_was_easier_a_step_ago(trained: Any) -> None:
    training, _ = trained(gamma=0.0)
    _another_step(training, learning_rate=3.0, train_every=20)  # one leap
    look = training.examine()
    assert look["batch.loss"] > 3 * look["batch.loss_one_step_ago"]
    assert "the steps did it, not the data" in _said(training, "Q501")
    case = Case(findings=(), window=Window(), config=training.live.now, probes=ask_all(look))
    cause = next(cause for cause in CAUSES if cause.id == "C201")
    assert "the same batch was easier a Step ago" in " ".join(cause.weigh(case).evidence_for)


def test_a_batch_is_as_hard_as_a_step_ago_if_no_weight_has_moved(trained: Any) -> None:
    training, _ = trained(learning_rate=0.0)
    look = training.examine()
    assert look["batch.loss_one_step_ago"] == look["batch.loss"] > 0
    assert "was the same" in _said(training, "Q501")


def test_a_batch_that_is_being_learned_was_harder_a_step_ago(trained: Any) -> None:
    training, learner = trained(gamma=0.0, learning_rate=0.0)
    _rewards(learner, lambda rewards: rewards.fill(10.0))
    _another_step(training, learning_rate=0.01, updates_per_training=10)
    assert "training is still reducing it" in _said(training, "Q501")


def test_looking_puts_the_weights_back(trained: Any) -> None:
    training, learner = trained()
    before = {name: part.copy() for name, part in _weights(learner).items()}
    training.examine()
    for name, part in _weights(learner).items():
        np.testing.assert_array_equal(part, before[name], err_msg=name)


def _weights(learner: DDPGLearner) -> dict[str, Any]:
    networks = {"critic": learner.critics[0], "actor": learner.actor}
    return {
        f"{name} {kind}": getattr(network, kind).numpy()
        for name, network in networks.items()
        for kind in ("parameters", "gradient")
    }


def test_a_learner_that_was_put_back_has_no_step_to_compare_with(trained: Any) -> None:
    training, _ = trained()
    training.load_state_dict(training.state_dict())
    assert "Q501" not in ask_all(training.examine())
    _another_step(training)
    assert "Q501" in ask_all(training.examine())


# Q502


@pytest.mark.parametrize("truncate", [False, True])
def test_ends_are_found_to_be_treated_rightly(trained: Any, truncate: bool) -> None:
    training, _ = trained(truncate=truncate)
    assert "treated rightly" in _said(training, "Q502")


@pytest.mark.parametrize(
    ("fault", "truncate", "value"),
    [
        ("terminal-mask-missing", False, "terminal_error"),
        ("truncation-as-termination", True, "truncated_as_terminated"),
    ],
)
def test_ends_are_found_to_be_treated_wrongly(
    trained: Any, fault: str, truncate: bool, value: str
) -> None:
    with SUBSTITUTIONS[fault](1.0):
        training, _ = trained(truncate=truncate)
        answer = ask_all(training.examine())["Q502"]
    assert "treated wrongly" in answer.statement
    assert [name for name, off in answer.values.items() if off] == [value]


# Q503


def test_an_error_that_all_share_is_spread_over_the_batch(trained: Any) -> None:
    training, learner = trained(gamma=0.0, learning_rate=0.0)
    _rewards(learner, lambda rewards: rewards.fill(10.0))
    assert training.examine()["batch.top_percent_share"] == pytest.approx(1 / 16, rel=0.2)
    assert "spread over the batch" in _said(training, "Q503")


def test_one_transition_that_is_far_off_drives_the_gradient(trained: Any) -> None:
    training, learner = trained(gamma=0.0)

    def surprise(rewards: Any) -> None:
        rewards[learner.last_indices[3]] = 1000.0

    _rewards(learner, surprise)
    learner.last_indices = np.unique(learner.last_indices)  # it counts once
    assert "a few transitions drive the gradient" in _said(training, "Q503")


# Q504


def test_the_composition_of_a_batch_is_told_as_it_is(trained: Any) -> None:
    training, learner = trained()
    learner.last_indices = np.array([5, 5, 5, 119])
    values = ask_all(training.examine())["Q504"].values
    assert values == {
        "data.buffer_share": 4 / 120,
        "data.duplicate_share": 0.5,
        "data.age_median": 114.0,
        "data.age_oldest": 114.0,
    }


# Q505


def test_a_fresh_critic_has_capacity(trained: Any) -> None:
    training, _ = trained(hidden_sizes=[64, 64])
    assert "still has capacity" in _said(training, "Q505")


def test_a_critic_whose_units_all_say_the_same_has_lost_its_capacity(trained: Any) -> None:
    training, learner = trained(hidden_sizes=[64, 64])
    critic = learner.critics[0]
    inputs, width = critic.sizes[0], 64
    start = (inputs + 1) * width
    weights = critic.parameters[start : start + width * width].view(width, width)
    bias = critic.parameters[start + width * width : start + width * width + width]
    weights.copy_(weights[:1].abs().clone().expand_as(weights))
    bias.fill_(0.1)
    assert training.examine()["capacity.rank_share"] == 1 / 64
    assert "has lost most of its capacity" in _said(training, "Q505")


def test_few_transitions_are_no_lack_of_capacity(trained: Any) -> None:
    training, _ = trained(
        hidden_sizes=[256, 256], learning_starts=5, total_env_steps=8, log_every=8, batch_size=4
    )
    assert "still has capacity" in _said(training, "Q505")


# Q506


@pytest.mark.parametrize(
    ("second", "said"), [(10.0, "pull the same way"), (-10.0, "pull against each other")]
)
def test_the_halves_of_a_batch_agree_or_do_not(trained: Any, second: float, said: str) -> None:
    training, learner = trained(gamma=0.0, learning_rate=0.0)
    learner.last_indices = np.arange(32)

    def halves(rewards: Any) -> None:
        rewards[:16], rewards[16:] = 10.0, second

    _rewards(learner, halves)
    assert said in _said(training, "Q506")


@pytest.mark.parametrize(
    ("second", "said"), [(0, "pull the same way"), (1, "pull against each other")]
)
@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_the_halves_of_a_rollout_agree_or_do_not(algorithm: str, second: int, said: str) -> None:
    values = {"rollout_length": 32, "environment": {"id": "CartPole-v1"}, "hidden_sizes": [16, 16]}
    training = prepare(parse_config({"algorithm": algorithm, **values, "total_env_steps": 32}))
    assert ask_all(training.examine()) == {}
    next(training.steps)
    assert isinstance(training.learner, OnPolicyLearner)
    data = training.learner.last
    assert data is not None
    # Every other action was good and the rest bad: the same ones in both halves, or the others.
    first_half = torch.arange(32) < 16
    data.actions.copy_(
        torch.where(first_half, torch.arange(32) % 2, (torch.arange(32) + second) % 2)
    )
    data.advantages.copy_(1.0 - 2.0 * (torch.arange(32) % 2))
    data.observations.copy_(data.observations[:1].clone().expand_as(data.observations))
    answer = ask_all(training.examine())["Q506"]
    assert said in answer.statement
    shares = [answer.values[f"gradient.{layer}_layer_share"] for layer in ("first", "last")]
    assert 0 < sum(shares) <= 1.0 + 1e-6
