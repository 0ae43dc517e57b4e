"""Playing what was trained: what can go wrong in somebody's environment is told in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import steadyrl
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.experiments import playing

SMALL = {
    "algorithm": "ppo",
    "total_env_steps": 32,
    "rollout_length": 32,
    "minibatch_size": 16,
    "epochs": 1,
    "hidden_sizes": [4],
    "evaluation": {"episodes": 0},
}


class Drawn(gymnasium.Env[Any, Any]):
    """Ten steps; what it does when it is drawn is up to the test."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)
    picture: Any = np.zeros((8, 8, 3), np.uint8)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.render_mode and self.count == 5:
            self.when_drawn()
        return np.zeros(2, np.float32), float(action), self.count == 10, False, {}

    def when_drawn(self) -> None:
        """Nothing, unless a test wants it."""

    def render(self) -> Any:
        return self.picture


class Fails(Drawn):
    def when_drawn(self) -> None:
        raise ValueError("joint limit")


class NoPicture(Drawn):
    picture = None


class Grey(Drawn):
    picture = np.zeros((8, 8), np.uint8)


class NoScreenPackage(Drawn):
    def render(self) -> Any:
        raise gymnasium.error.DependencyNotInstalled("pygame is not installed")


class NeverDrawn(Drawn):
    metadata: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()


def _policy(world: type[Drawn], folder: Path, **changes: Any) -> Any:
    return steadyrl.train({**SMALL, **changes}, folder / "run", environment=world).policy()


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (Fails, r"step\(\) failed with ValueError: joint limit"),
        (NoPicture, r"render\(\) returned a NoneType, not a picture"),
        (Grey, r"render\(\) returned an array of shape \(8, 8\), not a picture"),
        (NeverDrawn, r"cannot be drawn as 'rgb_array': its render modes are none"),
    ],
)
def test_what_goes_wrong_while_it_is_drawn_is_one_sentence(
    world: type[Drawn], told: str, tmp_path: Path
) -> None:
    policy = _policy(world, tmp_path)
    with pytest.raises(EnvironmentFault, match=told):
        playing.play(policy, video=tmp_path / "film.gif")
    assert not (tmp_path / "film.gif").exists()


def test_a_package_that_draws_and_is_missing_names_its_extra(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pip install 'steadyrl\[video\]'"):
        playing.play(_policy(NoScreenPackage, tmp_path), video=tmp_path / "film.gif")


@pytest.mark.parametrize(("episodes", "most_steps"), [(0, 1), (1, 0)])
def test_no_episode_and_no_step_are_refused(episodes: int, most_steps: int, tmp_path: Path) -> None:
    policy, film = _policy(Drawn, tmp_path), tmp_path / "film.gif"
    with pytest.raises(ConfigError, match="1 or more"):
        playing.play(policy, video=film, episodes=episodes, most_steps=most_steps)


def test_what_writes_the_film_is_asked_for_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = _policy(Fails, tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ConfigError, match=r"films need pillow: pip install 'steadyrl\[video\]'"):
        playing.play(policy, video=tmp_path / "film.gif")


def test_it_plays_as_it_was_evaluated_unless_told(tmp_path: Path) -> None:
    policy = _policy(Drawn, tmp_path, evaluation={"episodes": 0, "most_likely": False})
    asked: list[bool] = []

    def act(_seen: Any, deterministic: bool) -> int:
        asked.append(deterministic)
        return 0

    policy.act = act
    playing.play(policy, video=tmp_path / "film.gif", most_steps=1)
    playing.play(policy, video=tmp_path / "film.gif", most_steps=1, deterministic=True)
    assert asked == [False, True]
