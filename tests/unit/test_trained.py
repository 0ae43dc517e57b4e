"""Policies out of checkpoints: they act as they did in training, without trainer and world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

import steadyrl
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.envs import Envs, to_bounds
from steadyrl.environments.spaces import space_from, space_record
from steadyrl.run import train
from steadyrl.store.reader import RunReader
from steadyrl.trained import load_policy


class Rooms(gymnasium.Env[Any, Any]):
    """Whatever spaces it is told, drawn at random."""

    def __init__(self, observations: str = "box", actions: str = "box") -> None:
        self.observation_space = SPACES[observations]
        self.action_space = SPACES[actions]
        self._left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self._left = 7
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self._left -= 1
        return self.observation_space.sample(), float(np.sum(action)), self._left == 0, False, {}


SPACES: dict[str, spaces.Space[Any]] = {
    "box": spaces.Box(np.array([-1, -2], np.float32), np.array([3, 2], np.float32)),
    "number": spaces.Discrete(4, start=2),
    "numbers": spaces.MultiDiscrete([3, 2, 4]),
    "switches": spaces.MultiBinary(3),
    "frame": spaces.Box(0, 255, (36, 36, 3), np.uint8),
    "named": spaces.Dict(
        {"where": spaces.Box(-1.0, 1.0, (2,), np.float32), "door": spaces.Discrete(3)}
    ),
    "pair": spaces.Tuple([spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,), np.float32)]),
    "word": spaces.Text(5, min_length=2, charset="abc"),
}
gymnasium.register("test/Rooms-v0", entry_point=lambda **settings: Rooms(**settings))

SETTINGS: dict[str, dict[str, Any]] = {
    "ddpg": {"learning_starts": 8, "batch_size": 4, "log_every": 8, "buffer_size": 64},
    "ppo": {"rollout_length": 16, "minibatch_size": 8, "epochs": 1},
    "trpo": {"rollout_length": 16},
}


def _config(algorithm: str, observations: str, actions: str, **overrides: Any) -> RunConfig:
    values = {
        "algorithm": algorithm,
        "total_env_steps": 32,
        "hidden_sizes": [8],
        "environment": {
            "id": "test/Rooms-v0",
            "settings": {"observations": observations, "actions": actions},
        },
        "evaluation": {"every": 16, "episodes": 2},
        **SETTINGS[algorithm],
    }
    return parse_config(values, overrides=overrides)


CASES = [
    ("ddpg", "box", "box", {"normalize_observations": True}),
    ("ddpg", "named", "box", {"twin_critics": True}),
    ("ppo", "box", "number", {"normalize_observations": True}),
    ("ppo", "pair", "box", {}),
    ("ppo", "word", "box", {}),
    ("ppo", "number", "numbers", {}),
    ("ppo", "frame", "switches", {"rollout_length": 8, "total_env_steps": 16}),
    ("ppo", "box", "box", {"shared_layers": True}),
    (
        "ppo",
        "frame",
        "number",
        {
            "rollout_length": 8,
            "total_env_steps": 16,
            "shared_layers": True,
            "convolutions": "light",
        },
    ),
    ("trpo", "box", "numbers", {"activation": "relu"}),
    ("trpo", "frame", "box", {"rollout_length": 8, "total_env_steps": 16}),
]


@pytest.mark.parametrize(("algorithm", "observations", "actions", "overrides"), CASES)
def test_a_loaded_policy_acts_as_the_learner_did(
    algorithm: str, observations: str, actions: str, overrides: dict[str, Any], tmp_path: Path
) -> None:
    config = _config(algorithm, observations, actions, **overrides)
    path = train(config, tmp_path / "run")[1]
    policy = load_policy(path, "last")
    assert policy.observation_space == SPACES[observations]
    assert policy.action_space == SPACES[actions]
    training = prepare(config)
    training.load_state_dict(RunReader.open(path).checkpoints.load_latest()[1])
    learner: Any = training.learner
    envs: Any = training.world
    seen = [policy.observation_space.sample() for _ in range(5)]
    rows = np.stack([_as_array(policy.observation_space, one) for one in seen])
    if algorithm == "ddpg":
        expected = to_bounds(learner.policy(rows, config), policy.action_space)  # type: ignore[arg-type]
    else:
        outputs = learner.act(learner.inputs(rows, config))
        expected = learner.policy.for_environment(learner.policy.best(outputs))
    for one, wanted in zip(seen, expected, strict=True):
        action = policy.act(one)
        assert policy.action_space.contains(action)
        np.testing.assert_allclose(action, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(policy.act(seen), expected, rtol=1e-5, atol=1e-5)
    module = policy.acting.module()
    with torch.no_grad():
        found = module(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    envs.close()


def _as_array(space: spaces.Space[Any], observation: Any) -> Any:
    flat = isinstance(space, spaces.Box)
    return observation if flat else spaces.utils.flatten(space, observation)


def test_many_observations_of_a_dictionary_come_as_arrays_or_as_a_list(tmp_path: Path) -> None:
    path = train(_config("ppo", "named", "number"), tmp_path / "run")[1]
    policy = steadyrl.load_policy(str(path))
    seen = [policy.observation_space.sample() for _ in range(3)]
    batch = {name: np.stack([one[name] for one in seen]) for name in ("where", "door")}
    np.testing.assert_array_equal(policy.act(batch), policy.act(seen))
    with pytest.raises(EnvironmentFault, match=r"observation 0 .* is not in Dict"):
        policy.act([{"where": np.zeros(2, np.float32), "door": 9}])


def test_drawn_actions_differ_and_a_seed_fixes_them(tmp_path: Path) -> None:
    path = train(_config("ppo", "box", "box"), tmp_path / "run")[1]
    first, second = (load_policy(path, seed=3) for _ in range(2))
    seen = np.zeros((20, 2), np.float32)
    drawn = first.act(seen, deterministic=False)
    assert len(np.unique(drawn[:, 0])) > 1
    np.testing.assert_array_equal(drawn, second.act(seen, deterministic=False))
    np.testing.assert_array_equal(first.act(seen), np.repeat(first.act(seen)[:1], 20, axis=0))


def test_an_observation_of_another_shape_is_told_in_one_sentence(tmp_path: Path) -> None:
    policy = load_policy(train(_config("ddpg", "box", "box"), tmp_path / "run")[1])
    with pytest.raises(EnvironmentFault, match=r"shape \(3,\) was given: this policy sees \(2,\)"):
        policy.act(np.zeros(3))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "the observation None is no array of numbers"),
        ("left", "the observation 'left' is no array of numbers"),
        ({"a": 1}, "is no array of numbers"),
        ([0.0, np.nan], r"observation\[1\] is not a finite number"),
        ([[0.0, 0.0], [np.inf, 0.0]], r"observation\[1, 0\] is not a finite number"),
    ],
)
def test_what_is_no_observation_is_told(given: Any, told: str, tmp_path: Path) -> None:
    policy = load_policy(train(_config("ppo", "box", "number"), tmp_path / "run")[1])
    with pytest.raises(EnvironmentFault, match=told):
        policy.act(given)


def test_neither_environment_nor_trainer_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = train(_config("ppo", "box", "number"), tmp_path / "run")[1]

    def gone(*_: Any, **__: Any) -> None:
        raise AssertionError("there is no environment any more")

    monkeypatch.setattr(Envs, "__init__", gone)
    assert load_policy(path).act(np.zeros(2, np.float32)) in range(2, 6)


def test_a_clone_acts_without_its_demonstrations(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    observations = generator.normal(3.0, 2.0, (60, 2)).astype(np.float32)
    actions = np.tanh(0.3 * observations[:, :1])
    file = tmp_path / "demos.npz"
    np.savez(file, observations=observations, actions=actions, episode_starts=[0, 30])
    values = {
        "algorithm": "bc",
        "total_gradient_steps": 40,
        "log_every": 20,
        "batch_size": 16,
        "hidden_sizes": [8],
        "demonstrations": {"path": str(file)},
    }
    for overrides in ({}, {"squash": True, "std": "global"}, {"layer_norm": True, "dropout": 0.1}):
        config = parse_config(values, overrides=overrides)
        path = train(config, tmp_path / f"run-{len(overrides)}-{len(str(overrides))}")[1]
        training = prepare(config)
        training.load_state_dict(RunReader.open(path).checkpoints.load_latest()[1])
        learner: Any = training.learner
        expected = learner.policy(observations, config)
        policy = load_policy(path, "last")
        np.testing.assert_allclose(policy.act(observations), expected, rtol=1e-5, atol=1e-6)
        with torch.no_grad():
            found = policy.acting.module()(torch.from_numpy(observations)).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        assert np.std(policy.act(np.repeat(observations[:1], 50, 0), deterministic=False)) > 0


def test_the_best_is_loaded_and_says_why(tmp_path: Path) -> None:
    path = train(_config("ppo", "box", "number", total_env_steps=64), tmp_path / "run")[1]
    returns = {
        s.index: s.signals["eval.return_mean"]
        for s in RunReader.open(path).steps()
        if "eval.return_mean" in s.signals
    }
    policy = load_policy(path)
    assert returns[policy.step] == max(returns.values())
    assert f"evaluated at {max(returns.values()):.4g}" in repr(policy)
    assert load_policy(path, 4).step == 4
    with pytest.raises(ConfigError, match="use best, last, or one of"):
        load_policy(path, "newest")


@pytest.mark.parametrize("name", SPACES)
def test_a_space_comes_back_from_its_record(name: str) -> None:
    assert space_from(space_record(SPACES[name])) == SPACES[name]
