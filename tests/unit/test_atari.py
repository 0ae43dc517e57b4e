"""Atari games: what a life, a game and a score are, and that a game comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import EnvironmentConfig, RunConfig
from steadyrl.environments import atari
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Observers
from steadyrl.run import resume, train

LEFT = 3


def _envs(count: int = 2, seed: int = 0, **settings: Any) -> Envs:
    chosen = {"repeat_action_probability": 0.0, **settings}
    config = EnvironmentConfig(id="ALE/Breakout-v5", count=count, settings=chosen)
    return Envs(config, seed=seed)


def _play(envs: Envs, steps: int, seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [envs.step(generator.integers(0, 4, envs.count)) for _ in range(steps)]


def test_frames_are_four_grey_pictures() -> None:
    envs = _envs()
    assert envs.observations.shape == (2, 4, 84, 84)
    assert envs.observations.dtype == np.uint8
    assert isinstance(envs.action_space, Discrete)
    assert envs.action_space.n == 4


def test_a_lost_life_ends_the_future_but_not_the_game() -> None:
    envs = _envs(count=1, episodic_life=True)
    results = _play(envs, 600)
    lost = sum(int(r.terminated[0]) for r in results)
    games = sum(int(r.over[0]) for r in results)
    assert games >= 1
    assert lost >= 5 * games  # five lives each
    assert all(r.terminated[0] for r in results if r.over[0])
    assert len(envs.finished) == games


def test_without_it_only_the_games_end_counts() -> None:
    results = _play(_envs(count=1), 600)
    assert [bool(r.terminated[0]) for r in results] == [bool(r.over[0]) for r in results]


def test_the_ball_is_served_after_a_lost_life_though_the_policy_never_fires() -> None:
    envs = _envs(count=1, episodic_life=True)
    for _ in range(600):
        envs.step(np.array([LEFT]))
    # A paddle that stays in its corner loses every ball; unserved balls would never be lost.
    assert len(envs.finished) >= 2


def test_sticky_actions_do_not_keep_the_ball_from_being_served() -> None:
    envs = _envs(count=8, repeat_action_probability=0.25)
    for _ in range(600):
        envs.step(np.full(8, LEFT))
    assert {episode.copy for episode in envs.finished} == set(range(8))


def test_evaluations_play_whole_games_for_their_full_score() -> None:
    breakout = _config("ppo").value_of("environment")
    found = evaluate(
        lambda seen: np.full(len(seen), LEFT), breakout, episodes=2, seed=0, index=1, gamma=0.99
    )
    envs = _envs(count=1, episodic_life=True)
    life = next(at for at in range(600) if envs.step(np.array([LEFT])).terminated[0])
    for episode in found.episodes:
        assert episode.terminated
        assert episode.length > 2 * life  # five lives, though training counts each as an end
    generator = np.random.default_rng(0)
    found = evaluate(
        lambda seen: generator.integers(0, 4, len(seen)),
        breakout,
        episodes=2,
        seed=0,
        index=2,
        gamma=1.0,
    )
    totals = [episode.total for episode in found.episodes]
    assert totals == found.discounted.tolist()
    assert max(totals) > 1.0  # reward_clip is the learner's


def test_scores_are_those_of_the_game() -> None:
    results = _play(_envs(count=8), 400)
    # Breakout pays 1, 4 or 7 a brick; nothing is clipped on the way to the log.
    rewards = {float(v) for r in results for v in r.rewards}
    assert rewards <= {0.0, 1.0, 4.0, 7.0}
    assert 1.0 in rewards


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_a_game_comes_back_from_its_log(sticky: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atari, "LONGEST_LOG", 200)  # copies are seeded anew on the way
    envs = _envs(repeat_action_probability=sticky)
    _play(envs, 700)
    state = envs.state_dict()
    expected = _play(envs, 250, seed=1)
    again = _envs(repeat_action_probability=sticky)
    _play(again, 33, seed=2)
    again.load_state_dict(state)
    found = _play(again, 250, seed=1)
    for before, after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before.next_observations, after.next_observations)
        np.testing.assert_array_equal(before.terminated, after.terminated)
    assert again.observations.tolist() == envs.observations.tolist()


def test_seeds_make_games_differ() -> None:
    first, second = _envs(count=1, seed=0, noop_max=30), _envs(count=1, seed=1, noop_max=30)
    seen = [r.next_observations.sum() for r in _play(first, 50)]
    assert seen != [r.next_observations.sum() for r in _play(second, 50)]


@pytest.mark.parametrize("name", ["reward_clipping", "autoreset_mode", "life_loss_info"])
def test_what_the_trainer_decides_is_refused_as_a_setting(name: str) -> None:
    with pytest.raises(EnvironmentFault, match=f"environment.settings.{name} is not yours to set"):
        _envs(**{name: True})


@pytest.mark.parametrize("settings", [{"continuous": True}, {"grayscale": False}])
def test_joysticks_and_colours_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(EnvironmentFault, match="buttons and grey frames"):
        _envs(**settings)


def test_an_unknown_game_is_named() -> None:
    with pytest.raises(EnvironmentFault, match=r"Did you mean 'ALE/Breakout-v5'"):
        Envs(EnvironmentConfig(id="ALE/Breakuot-v5"), seed=0)


def _config(algorithm: str, **changes: Any) -> RunConfig:
    values: dict[str, Any] = {
        "algorithm": algorithm,
        "total_env_steps": 96,
        "rollout_length": 16,
        "reward_clip": 1.0,
        "environment": {
            "id": "ALE/Breakout-v5",
            "count": 2,
            "settings": {"episodic_life": True, "img_height": 42, "img_width": 42},
        },
        "evaluation": {"episodes": 0},
        "checkpoints": {"every": 32},
        **changes,
    }
    return parse_config(values)


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_training_on_frames_goes_on_exactly_where_it_stopped(
    algorithm: str, tmp_path: Path
) -> None:
    config = _config(algorithm)
    train(config, tmp_path / "whole")

    class Killed(Exception):
        pass

    def kill(step: Any) -> None:
        if step.index == 2:
            raise Killed

    with pytest.raises(Killed):
        train(config, tmp_path / "cut", observers=Observers(step=kill))
    resume(tmp_path / "cut")
    assert compare_runs(tmp_path / "whole", tmp_path / "cut").differences == []


def test_pictures_cannot_be_normalised_twice() -> None:
    with pytest.raises(ConfigError, match="divided by 255 already"):
        prepare(_config("ppo", normalize_observations=True))
