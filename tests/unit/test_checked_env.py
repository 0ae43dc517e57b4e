from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import steadyrl
from steadyrl.core.errors import EnvironmentFault


class Scripted(gymnasium.Env[Any, Any]):
    """Plays back what it is told to return."""

    def __init__(self, **changes: Any) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.changes, self.count = changes, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.count += 1
        ends = self.count >= self.changes.get("length", 10**9)
        return (
            self._observation(),
            self.changes.get("reward", 1.0),
            self.changes.get("terminated", ends and not self.changes.get("limit", False)),
            ends and self.changes.get("limit", False),
            {},
        )

    def _observation(self) -> Any:
        usual = np.array([0.001 * (self.count % 900), 0.5], dtype=np.float32)
        return self.changes.get("observation", usual)


def play(env: steadyrl.CheckedEnv, steps: int) -> None:
    env.reset(seed=0)
    for n in range(steps):
        _, _, terminated, truncated, _ = env.step(n % 3)
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"observation": np.array([0.0, np.nan], dtype=np.float32)}, "component 1 .* is nan"),
        ({"observation": np.zeros(3, dtype=np.float32)}, r"shape is \(3,\)"),
        ({"observation": np.zeros(2)}, "float64, the space says float32"),
        ({"observation": np.array([0.0, 7.0], dtype=np.float32)}, r"is 7, outside \[-1, 1\]"),
        ({"reward": float("inf")}, "the reward is inf"),
        ({"reward": None}, "the reward is None, no number"),
        ({"terminated": 0}, "terminated is 0"),
    ],
)
def test_a_broken_promise_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(EnvironmentFault, match=said):
        play(steadyrl.CheckedEnv(Scripted(**changes)), 400)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"observation": np.zeros(2, dtype=np.float32)}, "not changed for 50 steps"),
        ({"length": 20}, "all terminated after 20 steps"),
    ],
)
def test_what_may_be_so_in_a_sound_environment_is_warned_of(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.warns(UserWarning, match=said) as caught:
        play(steadyrl.CheckedEnv(Scripted(**changes)), 400)
    assert len(caught) == 1


def test_an_environment_may_write_into_the_array_it_returned() -> None:
    class Reusing(Scripted):
        def _observation(self) -> Any:
            held = self.changes.setdefault("array", np.zeros(2, dtype=np.float32))
            held[0] = 0.001 * self.count
            return held

    env = steadyrl.CheckedEnv(Reusing())
    play(env, 200)
    assert env.faults == {}


def test_parts_of_an_observation_are_looked_at_one_by_one() -> None:
    env = Scripted(observation={"a": np.array([0.0, np.inf]), "b": 1})
    env.observation_space = spaces.Dict(
        {"a": spaces.Box(-np.inf, np.inf, (2,), np.float64), "b": spaces.Discrete(3)}
    )
    with pytest.raises(EnvironmentFault, match=r"'a', component 1 .* is inf"):
        steadyrl.CheckedEnv(env).reset()


def test_a_sound_environment_passes_and_is_not_changed() -> None:
    plain, checked = (gymnasium.make("CartPole-v1") for _ in range(2))
    wrapped = steadyrl.CheckedEnv(checked)
    first, second = plain.reset(seed=3), wrapped.reset(seed=3)
    assert np.array_equal(first[0], second[0])
    for n in range(60):
        one, two = plain.step(n % 2), wrapped.step(n % 2)
        assert np.array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
        if one[2]:
            plain.reset(seed=n), wrapped.reset(seed=n)
    assert wrapped.faults == {}


def test_a_time_limit_that_is_reported_as_such_is_fine() -> None:
    env = steadyrl.CheckedEnv(Scripted(length=20, limit=True))
    play(env, 400)
    assert env.faults == {}


def test_a_step_after_the_end_is_refused() -> None:
    env = steadyrl.CheckedEnv(Scripted(length=2))
    env.reset()
    env.step(0)
    env.step(1)
    with pytest.raises(EnvironmentFault, match="after the end"):
        env.step(0)


def test_faults_may_be_warned_of_once_or_only_recorded() -> None:
    with pytest.warns(UserWarning, match="the reward is nan") as caught:
        play(steadyrl.CheckedEnv(Scripted(reward=float("nan")), on_fault="warn"), 5)
    assert len(caught) == 1
    env = steadyrl.CheckedEnv(Scripted(reward=float("nan")), on_fault="record")
    play(env, 5)
    assert list(env.faults) == ["reward-not-finite"]
