from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from steadyrl.core.errors import EnvironmentFault, TrainingDiverged
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments import RESIDUAL_CONTROL
from steadyrl.environments.backends import check_quickly
from steadyrl.environments.envs import Envs, to_bounds
from tests.conftest import Countdown


def _envs(identity: str, count: int = 1, seed: int = 0, **settings: Any) -> Envs:
    config = EnvironmentConfig(id=identity, count=count, settings=settings)
    return Envs(config, seed=seed)


def _zeros(envs: Envs) -> Any:
    return np.zeros((envs.count, 1), dtype=np.float32)


# Episode ends


@pytest.mark.parametrize("truncate", [False, True])
def test_the_successor_is_the_final_observation_and_the_next_step_sees_a_new_episode(
    truncate: bool,
) -> None:
    envs = _envs("test/Countdown-v0", length=3, truncate=truncate)
    first_start = envs.observations[0, 1]
    for _ in range(2):
        result = envs.step(_zeros(envs))
        assert not (result.terminated | result.truncated).any()
    result = envs.step(_zeros(envs))
    assert result.next_observations[0].tolist() == [0.0, first_start]
    assert (bool(result.terminated[0]), bool(result.truncated[0])) == (not truncate, truncate)
    assert envs.observations[0, 0] == 3.0
    assert envs.observations[0, 1] != first_start
    assert [(e.total, e.length, e.terminated) for e in envs.finished] == [(3.0, 3, not truncate)]


def test_episodes_of_copies_and_of_later_times_have_seeds_of_their_own() -> None:
    envs = _envs("test/Countdown-v0", count=3, length=2)
    starts = set(envs.observations[:, 1].tolist())
    for _ in range(4):
        envs.step(_zeros(envs))
        starts |= set(envs.observations[:, 1].tolist())
    assert len(starts) == 9


def test_a_nan_from_the_environment_is_named_and_stops_at_once() -> None:
    envs = _envs("test/Countdown-v0", length=5, poison_at=3)
    envs.step(_zeros(envs))
    with pytest.raises(EnvironmentFault, match=r"observation\[1\] = nan at environment step 2"):
        envs.step(_zeros(envs))


class Vast(Countdown):
    """Observations and rewards near the end of float32: each a number, their sum none."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _, _, terminated, truncated, info = super().step(action)
        return np.full(2, 3e38, dtype=np.float32), 1.7e308, terminated, truncated, info


gymnasium.register("test/Vast-v0", entry_point=lambda **settings: Vast(**settings))


def test_numbers_are_finite_even_if_their_sum_is_not() -> None:
    envs = _envs("test/Vast-v0", count=2)
    result = envs.step(_zeros(envs))
    assert result.next_observations.tolist() == [[np.float32(3e38)] * 2] * 2
    _envs("test/Countdown-v0", count=2).step(np.full((2, 1), 3e38, dtype=np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_no_number_ends_the_run(bad: float) -> None:
    envs = _envs("test/Countdown-v0", count=2)
    with pytest.raises(TrainingDiverged, match="is not a number"):
        envs.step(np.array([[1.0], [bad]]))


def test_an_unknown_environment_is_refused_with_a_suggestion() -> None:
    with pytest.raises(EnvironmentFault, match="Did you mean 'Pendulum-v1'"):
        _envs("Pendulum-v1x")


def test_an_unknown_environment_setting_is_refused_by_name() -> None:
    with pytest.raises(EnvironmentFault, match="graviti"):
        _envs("Pendulum-v1", graviti=3.0)
    with pytest.raises(EnvironmentFault, match="episode_length = 5000: use 1 to 4010"):
        _envs(RESIDUAL_CONTROL, episode_length=5000)


def test_actions_are_stretched_to_the_bounds() -> None:
    space = gymnasium.spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 10.0]), dtype=np.float64)
    stretched = to_bounds(np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]), space)
    assert stretched.tolist() == [[-2.0, 0.0], [0.0, 5.0], [2.0, 10.0]]


# State


@pytest.mark.parametrize(
    "identity",
    [RESIDUAL_CONTROL, "Pendulum-v1", "MountainCarContinuous-v0", "CartPole-v1", "Acrobot-v1"],
)
def test_restored_environments_go_on_exactly(identity: str) -> None:
    envs = _envs(identity, count=2, seed=3)
    envs.action_space.seed(0)

    def actions() -> Any:
        return np.stack([envs.action_space.sample() for _ in range(envs.count)])

    for _ in range(60):
        envs.step(actions())
    state = envs.state_dict()
    plan = [actions() for _ in range(80)]
    expected = [envs.step(action) for action in plan]
    restored = _envs(identity, count=2, seed=3)
    restored.load_state_dict(state)
    for action, before in zip(plan, expected, strict=True):
        again = restored.step(action)
        np.testing.assert_array_equal(again.next_observations, before.next_observations)
        np.testing.assert_array_equal(again.rewards, before.rewards)
        np.testing.assert_array_equal(again.terminated, before.terminated)
    assert list(restored.recent) == list(envs.recent)


def test_an_environment_that_does_not_come_back_is_reported() -> None:
    class Fickle(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        _count = 0

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            Fickle._count += 1
            return np.array([0.01 * Fickle._count], dtype=np.float32), {}

        def step(self, action: Any) -> Any:
            return np.array([0.01 * Fickle._count], dtype=np.float32), 0.0, False, False, {}

    gymnasium.register("test/Fickle-v0", entry_point=lambda **_: Fickle())
    envs = _envs("test/Fickle-v0")
    envs.step(_zeros(envs))
    state = envs.state_dict()
    with pytest.raises(EnvironmentFault, match="not deterministic"):
        envs.load_state_dict(state)


# Residual control


def test_residual_control_passes_gymnasiums_checker() -> None:
    check_env(gymnasium.make(RESIDUAL_CONTROL).unwrapped, skip_render_check=True)


def test_many_plants_equal_single_ones() -> None:
    vector: Any = gymnasium.make_vec(
        RESIDUAL_CONTROL, num_envs=3, vectorization_mode="vector_entry_point"
    )
    singles = [gymnasium.make(RESIDUAL_CONTROL).unwrapped for _ in range(3)]
    together, _ = vector.reset(seed=[5, 6, 7])
    apart = np.stack([env.reset(seed=5 + i)[0] for i, env in enumerate(singles)])
    np.testing.assert_array_equal(together, apart)
    generator = np.random.default_rng(0)
    for _ in range(8):
        actions = generator.uniform(-0.3, 0.3, (3, 1)).astype(np.float32)
        observations, rewards, _, _, _ = vector.step(actions)
        for index, env in enumerate(singles):
            observation, reward, _, _, _ = env.step(actions[index])
            np.testing.assert_array_equal(observations[index], observation)
            assert rewards[index] == reward


def _play(policy: Any, steps: int = 3000, **settings: Any) -> list[Any]:
    envs = _envs(RESIDUAL_CONTROL, count=4, episode_length=500, **settings)
    for _ in range(steps):
        envs.step(policy(envs.observations))
    return envs.finished


def _steady(observations: Any) -> Any:
    error, rate, angle = observations[:, 0:1], observations[:, 1:2], observations[:, 2:3]
    return np.clip(0.5 * error + 0.2 * rate - 0.3 * angle, -1, 1)


def _fall(observations: Any) -> Any:
    return -np.sign(observations[:, 0:1])


def _discounted(cost_per_step: float, length: float, gamma: float = 0.99) -> float:
    return float(cost_per_step * (1 - gamma**length) / (1 - gamma))


def test_the_base_controller_alone_loses_the_plant_and_a_correction_holds_it() -> None:
    alone = _play(lambda o: np.zeros((4, 1)))
    assert np.mean([e.length for e in alone]) < 100
    assert all(e.terminated for e in alone)
    held = _play(_steady)
    assert {e.length for e in held} == {500}
    assert not any(e.terminated for e in held)


def test_falling_at_once_pays_unless_termination_costs() -> None:
    def value(policy: Any, **settings: Any) -> float:
        episodes = _play(policy, **settings)
        step = np.mean([e.total / e.length for e in episodes])
        return _discounted(float(step), float(np.mean([e.length for e in episodes])))

    assert value(_fall) > 5 * value(_steady)
    assert value(_fall, termination_penalty=75.0) < value(_steady, termination_penalty=75.0)


def test_a_long_episode_costs_millions() -> None:
    envs = _envs(RESIDUAL_CONTROL, episode_length=4010)
    for _ in range(4010):
        envs.step(_steady(envs.observations))
    assert envs.finished[0].length == 4010
    assert envs.finished[0].total < -4e6


@pytest.mark.parametrize("name", ["CartPole-v1", "Acrobot-v1"])
def test_actions_are_checked_as_gymnasium_checks_them(name: str) -> None:
    env, plain = gymnasium.make(name), gymnasium.make(name)
    check_quickly(env)
    assert env.action_space == plain.action_space
    assert not env.action_space.contains(1 << 70)  # an OverflowError of Gymnasium 1.2.0's own
    for action in (-1, 0, 1, 2, 5, 6, True, np.int64(1), np.float64(1.0), "1", None):
        assert env.action_space.contains(action) == plain.action_space.contains(action)
    env.close()
    plain.close()


def test_an_environment_of_ones_own_keeps_its_space() -> None:
    class Own(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
        action_space = gymnasium.spaces.Discrete(2)

    env = Own()
    check_quickly(env)
    assert type(env.action_space) is gymnasium.spaces.Discrete
