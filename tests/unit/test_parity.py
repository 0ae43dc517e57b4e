"""One update on the peers' own arrays ends where theirs ends.

tests/data/sb3_parity.npz was written by benchmarks/peers/sb3_parity.py with Stable-Baselines3 and
sb3-contrib 2.9.2: rollouts, weights before and after one update, and what they logged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from steadyrl.algorithms.on_policy import ppo, trpo
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.trpo_config import TRPOConfig
from steadyrl.core.presets import parse_config
from steadyrl.core.signals import Meter
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.maths.advantages import advantages, explained_variance

ARRAYS = np.load(Path(__file__).parent.parent / "data" / "sb3_parity.npz")
TASKS = ["CartPole-v1", "Pendulum-v1"]
COMMON: dict[str, Any] = {"hidden_sizes": [16, 16], "rollout_length": 64}


def _theirs(algorithm: str, task: str, name: str) -> NDArray[np.float32]:
    found: NDArray[np.float32] = ARRAYS[f"{algorithm} {task} {name}"]
    return found


def _learner(algorithm: str, task: str, config: Any) -> tuple[OnPolicyLearner, Samples]:
    envs = Envs(config.environment, seed=0)
    learner = OnPolicyLearner(config, envs, torch.device("cpu"))
    for part, network in (("actor", learner.actor), ("critic", learner.critic)):
        before = _theirs(algorithm, task, f"{part} before")
        assert network.parameters.shape == before.shape
        network.parameters.copy_(torch.from_numpy(before))

    def flat(name: str) -> torch.Tensor:
        values = _theirs(algorithm, task, name)
        return torch.from_numpy(values.reshape(-1, *values.shape[2:]).copy())

    actions = flat("actions")
    data = Samples(
        observations=flat("observations"),
        actions=actions if task == "Pendulum-v1" else actions[:, 0].long(),
        log_probs=flat("log_probs"),
        values=flat("values"),
        advantages=flat("advantages"),
        returns=flat("returns"),
    )
    return learner, data


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_advantages_and_returns(algorithm: str, task: str) -> None:
    rewards, values = (_theirs(algorithm, task, name) for name in ("rewards", "values"))
    ends = _theirs(algorithm, task, "ends").astype(bool)
    found = advantages(
        rewards,
        values,
        _theirs(algorithm, task, "last_values"),
        ends,
        np.zeros_like(ends),
        np.zeros_like(values),
        gamma=0.99,
        decay=0.95,
    )
    np.testing.assert_allclose(found, _theirs(algorithm, task, "advantages"), rtol=1e-4, atol=1e-4)
    returns = _theirs(algorithm, task, "returns")
    np.testing.assert_allclose(found + values, returns, rtol=1e-4, atol=1e-4)
    logged = _theirs(algorithm, task, "train/explained_variance")
    assert explained_variance(values, returns) == pytest.approx(float(logged), abs=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_a_whole_ppo_update(task: str) -> None:
    values = {
        **COMMON,
        "algorithm": "ppo",
        "environment": {"id": task, "count": 4},
        "minibatch_size": 256,
        "epochs": 1,
        "entropy_weight": 0.01,
    }
    config = parse_config(values)
    assert isinstance(config, PPOConfig)
    learner, data = _learner("ppo", task, config)
    meter = Meter()
    ppo.update(learner, data, config, meter, learning_rate=3e-4)
    for part, network in (("actor", learner.actor), ("critic", learner.critic)):
        after = torch.from_numpy(_theirs("ppo", task, f"{part} after"))
        # Adam divides tiny gradients by their own size, so single weights differ by rounding.
        torch.testing.assert_close(network.parameters, after, atol=3e-6, rtol=1e-4)
    signals = meter.read()
    for ours, theirs, sign in (
        ("policy.loss", "policy_gradient_loss", 1),
        ("value.loss", "value_loss", 1),
        ("policy.entropy", "entropy_loss", -1),
        ("policy.clip_fraction", "clip_fraction", 1),
        ("policy.kl_first_epoch", "approx_kl", 1),
    ):
        expected = sign * float(_theirs("ppo", task, f"train/{theirs}"))
        assert signals[ours] == pytest.approx(expected, rel=1e-4, abs=1e-6), ours


@pytest.mark.parametrize("task", TASKS)
def test_a_whole_trpo_update(task: str) -> None:
    values = {
        **COMMON,
        "algorithm": "trpo",
        "environment": {"id": task, "count": 4},
        "cg_iterations": 15,
        "damping": 0.1,
        "max_kl": 0.01,
        "critic_epochs": 1,
        "critic_minibatch_size": 256,
        "critic_learning_rate": 1e-3,
    }
    config = parse_config(values)
    assert isinstance(config, TRPOConfig)
    learner, data = _learner("trpo", task, config)
    before = learner.actor.parameters.clone()
    old = (learner.actor.forward(data.observations).clone(), learner.actor.extra.clone())
    signals = trpo.update_policy(learner, data, config)
    fitted = trpo.fit_critic(learner, data, config)
    assert signals["trpo.line_search_success"] == _theirs(
        "trpo", task, "train/is_line_search_success"
    )
    assert fitted["value.loss"][0] == pytest.approx(
        float(_theirs("trpo", task, "train/value_loss")), rel=1e-4
    )
    moved = learner.actor.parameters - before
    expected = torch.from_numpy(_theirs("trpo", task, "actor after")) - before
    # Fifteen steps of conjugate gradients in float32 agree to a few thousandths.
    assert float(torch.cosine_similarity(moved, expected, dim=0)) > 0.9999
    assert float(moved.norm() / expected.norm()) == pytest.approx(1.0, abs=0.01)
    critic = torch.from_numpy(_theirs("trpo", task, "critic after"))
    torch.testing.assert_close(learner.critic.parameters, critic, atol=1e-5, rtol=1e-4)
    # Theirs is KL(new || old), ours KL(old || new); turned round it is the same number.
    new = (learner.actor.forward(data.observations), learner.actor.extra)
    turned = float(learner.policy.divergence(new, old).mean())
    logged = float(_theirs("trpo", task, "train/kl_divergence_loss"))
    assert turned == pytest.approx(logged, rel=0.01)
    assert signals["policy.kl"] == pytest.approx(logged, rel=0.1)
