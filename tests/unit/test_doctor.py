"""The environment doctor: each question has a world that it minds, and one that it does not."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import steadyrl
from steadyrl.cli.main import main
from steadyrl.core.errors import EnvironmentFault
from steadyrl.integrations.doctor import examine, make
from steadyrl.stability.environment_rules import QUESTIONS, asked


class World(gymnasium.Env[Any, Any]):
    """A point that actions push about for forty steps; each keyword breaks one thing."""

    def __init__(self, **broken: Any) -> None:
        self.broken = broken
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=None if self.broken.get("unseeded") else seed)
        self.at, self.taken = self.np_random.normal(), 0
        self.waiting = deque([0.0] * self.broken.get("delay", 0))
        return self.seen(), {}

    def seen(self) -> Any:
        last = self.broken.get("last", self.taken / 40)
        second = self.at if self.broken.get("twice") else self.at**2
        scaled = [self.at * self.broken.get("scale", 1.0), second, last]
        return np.array(scaled, dtype=np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.waiting.append(float(action[0]))
        self.at += self.broken.get("push", 1.0) * self.waiting.popleft()
        self.taken += 1
        reward = self.broken.get("reward", self.at) * self.broken.get("times", 1.0)
        reward += self.broken.get("noise", 0.0) * float(np.random.normal())  # noqa: NPY002
        limit = self.taken >= 40
        failed = self.broken.get("fails", False) and abs(self.at) > 1.5
        as_end = bool(self.broken.get("limit_as_end"))
        both = bool(self.broken.get("both"))
        info = {"TimeLimit.truncated": True} if limit and self.broken.get("info") else {}
        ended = failed or (limit and (as_end or both))
        return self.seen(), reward, ended, limit and not as_end, info


def found(**broken: Any) -> set[str]:
    return {concern.rule for concern in asked(examine(lambda: World(**broken), episodes=20))}


BROKEN: dict[str, dict[str, Any]] = {
    "E001": {"reward": float("nan")},
    "E002": {"push": 0.0},
    "E003": {"delay": 2},
    "E004": {"unseeded": True},
    "E005": {"noise": 30.0},
    "E006": {"fails": True, "reward": -1.0},
    "E007": {"scale": 1e4},
    "E008": {"last": 0.5},
    "E009": {"twice": True},
    "E010": {"limit_as_end": True},
    "E011": {"reward": -1.0},
    "E012": {"times": 1000.0},
    "E013": {"both": True},
}


def test_every_question_has_an_environment_that_it_minds() -> None:
    assert {rule.id for rule in QUESTIONS} == BROKEN.keys()
    assert len({rule.name for rule in QUESTIONS}) == len(QUESTIONS)
    for rule in QUESTIONS:
        assert all((rule.asks, rule.why, rule.remedy, rule.false_alarms))


@pytest.mark.parametrize("rule", BROKEN)
def test_what_is_broken_is_found(rule: str) -> None:
    assert rule in found(**BROKEN[rule])


def test_a_sound_environment_is_not_complained_about() -> None:
    assert found() == set()


@pytest.mark.parametrize(
    ("rule", "sound"),
    [
        ("E003", {"delay": 0}),
        ("E005", {"noise": 0.1}),
        ("E006", {"fails": True, "reward": 1.0}),
        ("E007", {"scale": 5.0}),
        ("E012", {"times": 1.0}),
    ],
)
def test_a_near_miss_is_none(rule: str, sound: dict[str, Any]) -> None:
    assert rule not in found(**sound)


def test_an_info_that_denies_the_flags_is_told() -> None:
    concerns = asked(examine(lambda: World(info=True, limit_as_end=True)))
    (denied,) = [concern for concern in concerns if concern.rule == "E013"]
    assert "info says" in denied.message
    assert "E013" not in found(info=True)


def test_the_delay_is_told_in_steps() -> None:
    concerns = asked(examine(lambda: World(delay=2)))
    (late,) = [concern for concern in concerns if concern.rule == "E003"]
    assert "2 steps later" in late.message
    assert late.severity == "warning"


@pytest.mark.parametrize(
    ("rule", "broken"), [("E002", {"push": 0.0}), ("E003", {"delay": 2}), ("E005", {"noise": 30.0})]
)
def test_a_world_that_cannot_be_repeated_is_asked_by_what_depends_on_what(
    rule: str, broken: dict[str, Any]
) -> None:
    seen = examine(lambda: World(unseeded=True, **broken))
    assert not seen.intervened
    assert rule in {concern.rule for concern in asked(seen)}


def watched(steps: int = 2000, on_fault: Any = "warn", **broken: Any) -> steadyrl.CheckedEnv:
    """A world that somebody steps, nobody examines."""
    env = steadyrl.CheckedEnv(World(**broken), on_fault=on_fault)
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return env


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("actions-without-effect", {"push": 0.0}),
        ("actions-arrive-late", {"delay": 2}),
        ("reward-noise", {"noise": 30.0}),
        ("early-end-pays", {"fails": True, "reward": -1.0}),
        ("scales-apart", {"scale": 1e4}),
    ],
)
def test_what_passes_by_a_checked_environment_is_asked_the_same(
    name: str, broken: dict[str, Any]
) -> None:
    with pytest.warns(UserWarning, match=name):
        env = watched(**broken)
    assert name in env.faults


def test_notes_of_what_passes_by_are_kept_and_not_warned_of() -> None:
    env = watched(on_fault="raise", twice=True)
    assert env.faults.keys() == {"component-twice"}


def test_nothing_is_said_of_a_sound_environment_that_passes_by() -> None:
    assert watched(on_fault="raise").faults == {}


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_known_environments_are_sound(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--environment", name, "--strict"]) == 0
    assert "nothing to complain about" in capsys.readouterr().out


def test_an_environment_that_is_not_there_is_named() -> None:
    with pytest.raises(EnvironmentFault, match="NoSuchTask-v0"):
        examine(make("NoSuchTask-v0"))


def test_there_must_be_something_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "nothing to check" in capsys.readouterr().err
