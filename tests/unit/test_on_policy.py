"""What PPO and TRPO share: ends of episodes, spaces at the edge, divergence, schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.algorithms.on_policy import estimating
from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.config import OnPolicyConfig
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.core.errors import ConfigError, TrainingDiverged
from steadyrl.core.presets import load_config, parse_config
from steadyrl.environments.envs import Envs
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Observers
from steadyrl.maths.advantages import advantages
from steadyrl.nets.convolutional import ConvNetwork
from steadyrl.nets.dense import DenseNetwork
from steadyrl.run import resume, train
from steadyrl.store.reader import RunReader


class Landscape(gymnasium.Env[Any, Any]):
    """Pictures with their colours last, as most games give them; rewards of 5 and -5."""

    def __init__(self, side: int = 40, buttons: int = 3) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, (side, side + 2, 3), dtype=np.uint8)
        self.action_space = gymnasium.spaces.Discrete(buttons)
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return self._observe(), 5.0 if action else -5.0, self._steps == 7, False, {}

    def _observe(self) -> Any:
        return self.np_random.integers(0, 256, self.observation_space.shape, dtype=np.uint8)


gymnasium.register("test/Landscape-v0", entry_point=lambda **settings: Landscape(**settings))


def _config(algorithm: str, task: str, **overrides: Any) -> OnPolicyConfig:
    values: dict[str, Any] = {
        "algorithm": algorithm,
        "total_env_steps": 256,
        "rollout_length": 16,
        "hidden_sizes": [16, 16],
        "environment": {"id": task, "count": 2},
        "evaluation": {"every": 128, "episodes": 2},
        "checkpoints": {"every": 64},
    }
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    config = parse_config(values, overrides=dotted)
    assert isinstance(config, OnPolicyConfig)
    return config


def _parts(training: Training) -> tuple[OnPolicyLearner, Envs]:
    learner, envs = training.learner, training.world
    assert isinstance(learner, OnPolicyLearner)
    assert isinstance(envs, Envs)
    return learner, envs


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_a_policy_that_is_no_number_ends_the_run(algorithm: str, task: str) -> None:
    training = prepare(_config(algorithm, task))
    learner, _ = _parts(training)
    next(training.steps)
    learner.actor.parameters.fill_(np.nan)
    with pytest.raises(TrainingDiverged, match="after 1 updates"):
        next(training.steps)


def test_pictures_with_colours_last_are_seen_by_convolutions() -> None:
    config = _config("ppo", "test/Landscape-v0", minibatch_size=16)
    training = prepare(config)
    learner, envs = _parts(training)
    assert isinstance(learner.actor, ConvNetwork)
    assert learner.shape == (3, 40, 42)
    seen = learner.inputs(envs.observations, config)
    np.testing.assert_array_equal(seen[1, 2], envs.observations[1, :, :, 2])
    assert next(training.steps).signals["policy.first_ratio_error"] < 1e-4


def test_small_pictures_are_flattened() -> None:
    settings = {"environment__settings": {"side": 8}, "minibatch_size": 16}
    learner, _ = _parts(prepare(_config("ppo", "test/Landscape-v0", **settings)))
    assert isinstance(learner.actor, DenseNetwork)
    assert learner.shape == (8 * 10 * 3,)


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_rewards_are_clipped_for_learning_and_scores_are_not(algorithm: str) -> None:
    settings = {"side": 8}
    config = _config(algorithm, "test/Landscape-v0", environment__settings=settings, reward_clip=1)
    training = prepare(config)
    learner, envs = _parts(training)
    rollout = collect(learner, envs, config)
    assert set(np.unique(rollout.rewards)) == {-1.0, 1.0}
    assert {abs(episode.total) % 5.0 for episode in envs.recent} == {0.0}
    assert max(abs(episode.total) for episode in envs.recent) > 1.0


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_a_single_button_has_no_entropy_to_share(algorithm: str) -> None:
    settings = {"side": 8, "buttons": 1}
    config = _config(algorithm, "test/Landscape-v0", environment__settings=settings)
    signals = next(prepare(config).steps).signals
    assert signals["policy.entropy"] == 0.0
    assert "policy.entropy_share" not in signals
    if algorithm == "trpo":  # one distribution only: nothing to follow
        assert signals["trpo.failed_no_gradient"] == 1.0
        assert signals["trpo.failed_negative_curvature"] == 0.0


@pytest.mark.parametrize(("task", "size"), [("FrozenLake-v1", 16), ("Blackjack-v1", 45)])
def test_observations_that_are_no_arrays_become_some(task: str, size: int) -> None:
    training = prepare(_config("ppo", task))
    learner, envs = _parts(training)
    assert learner.shape == (size,)
    assert set(np.unique(envs.observations)) == {0, 1}
    assert next(training.steps).taken == 32


def test_one_sample_per_update() -> None:
    lonely = {"rollout_length": 1, "environment__count": 1, "total_env_steps": 3}
    with pytest.raises(ConfigError, match="one sample per update"):
        _config("trpo", "CartPole-v1", **lonely)
    config = _config("ppo", "CartPole-v1", **lonely, minibatch_size=1, normalize_advantages=False)
    for step in prepare(config).steps:
        assert not any(np.isnan(value) for value in step.signals.values())


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_a_time_limit_is_followed_by_the_value_of_the_state_it_cut(algorithm: str) -> None:
    cut = {"environment__settings": {"truncate": True}, "gae_decay": 1.0}
    config = _config(algorithm, "test/Countdown-v0", **cut)
    learner, envs = _parts(prepare(config))
    # A critic that puts out the time that is left, plus 10: it knows which state it is shown.
    learner.critic.forward = lambda inputs: inputs[:, :1] + 10.0  # type: ignore[method-assign]
    rollout = collect(learner, envs, config)
    data, signals = with_advantages(learner, rollout, config)
    returns = data.returns.reshape(rollout.length, rollout.copies).numpy()
    assert len(rollout.cuts) == 6
    for at, copy, _ in rollout.cuts:
        assert returns[at, copy] == pytest.approx(1.0 + 0.99 * 10.0)  # no time is left there
    assert signals["rollout.truncated_as_terminated"] == 0.0


def test_time_limits_learned_as_ends_are_seen_in_the_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = advantages

    def mistaken(*given: Any, **options: Any) -> Any:
        rewards, values, last, terminated, truncated, worth = given
        return original(
            rewards, values, last, terminated | truncated, truncated, 0 * worth, **options
        )

    config = _config("ppo", "test/Countdown-v0", environment__settings={"truncate": True})
    learner, envs = _parts(prepare(config))
    learner.critic.forward = lambda inputs: inputs[:, :1] + 10.0  # type: ignore[method-assign]
    rollout = collect(learner, envs, config)
    monkeypatch.setattr(estimating, "advantages", mistaken)
    assert with_advantages(learner, rollout, config)[1][
        "rollout.truncated_as_terminated"
    ] == pytest.approx(1.0)


class Stop(Exception):
    """Ends a run in a test, as a kill would."""


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("ppo", {"learning_rate_schedule": "linear", "entropy_weight": 0.1, "entropy_decay": 0.7}),
        ("ppo", {"normalize_observations": True, "normalize_rewards": True, "reward_clip": 0.5}),
        ("trpo", {"entropy_weight": 0.5, "entropy_decay": 0.7, "entropy_floor": 0.1}),
        # So narrow a step that no search succeeds: the stabiliser's changes are in force.
        (
            "trpo",
            {
                "stabiliser": True,
                "stabiliser_failures": 2,
                "cg_iterations": 1,
                "max_kl": 4.0,
                "backtracks": 1,
                "damping": 0.01,
            },
        ),
    ],
    ids=["schedules", "normalisers", "entropy", "stabiliser"],
)
def test_schedules_and_changes_survive_a_kill(
    algorithm: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    config = _config(algorithm, "CartPole-v1", **settings)
    train(config, tmp_path / "whole")

    def stop(step: Any) -> None:
        if step.index == 6:
            raise Stop

    with pytest.raises(Stop):
        train(config, tmp_path / "broken", observers=Observers(step=stop))
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "whole", tmp_path / "broken").differences == []
    changes = [e for e in RunReader.open(tmp_path / "broken").events() if e["event"] == "change"]
    assert bool(changes) is bool(settings.get("stabiliser"))


# The field notes' table: version 1 and version 2.
TABLE: dict[str, tuple[Any, Any]] = {
    "samples_per_update": (2048, 32768),
    "gamma": (0.99, 0.99),
    "gae_decay": (0.95, 0.98),
    "max_kl": (0.01, 0.02),
    "damping": (0.1, 0.05),
    "cg_iterations": (10, 15),
    "backtracks": (10, 15),
    "backtrack_ratio": (0.8, 0.6),
    "critic_learning_rate": (1e-3, 5e-4),
    "critic_epochs": (5, 10),
    "critic_minibatch_size": (64, 128),
    "entropy_weight": (0.01, 0.05),
    "entropy_decay": (1.0, 0.9995),
    "entropy_floor": (0.0, 0.01),
    "normalize_rewards": (False, True),
    "stabiliser": (False, True),
}


@pytest.mark.parametrize("game", ["breakout", "cartpole"])
@pytest.mark.parametrize("version", [0, 1])
def test_the_presets_hold_the_documents_numbers(game: str, version: int) -> None:
    config = load_config(f"trpo/v{version + 1}-{game}")
    assert isinstance(config, OnPolicyConfig)
    for name, values in TABLE.items():
        assert getattr(config, name) == values[version], name
