"""The guard begins anew where what was lived contradicts a remedy, while that loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from steadyrl import guarding
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge
from steadyrl.run import Observers, resume, train
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]


class Loud(gymnasium.RewardWrapper[Any, Any]):
    """Rewards in units that are ten thousand times too small."""

    def reward(self, reward: Any) -> float:
        return 10_000.0 * float(reward)


gymnasium.register(
    "test/LoudPendulum-v0",
    entry_point=lambda **settings: Loud(gymnasium.make("Pendulum-v1", **settings)),
)


@pytest.fixture(params=["ddpg", "ppo"])
def loud(request: pytest.FixtureRequest, small_config: Make) -> RunConfig:
    """A run whose rewards drown all else, as its owner might begin it."""
    if request.param == "ddpg":
        return small_config(environment__id="test/LoudPendulum-v0", evaluation__episodes=0)
    return parse_config(
        {
            "algorithm": "ppo",
            "total_env_steps": 2048,
            "rollout_length": 64,
            "minibatch_size": 32,
            "epochs": 2,
            "hidden_sizes": [8],
            "environment": {"id": "test/LoudPendulum-v0", "count": 2},
            "evaluation": {"every": 10_000},
            "checkpoints": {"every": 256},
        }
    )


REMEDY = {"ddpg": ("R303", "reward_scale"), "ppo": ("R337", "normalize_rewards")}


def _actions(path: Path) -> list[dict[str, Any]]:
    return [event for event in RunReader.open(path).events() if event["event"] == "action"]


def test_loud_rewards_are_quietened_from_the_beginning_on(loud: RunConfig, tmp_path: Path) -> None:
    summary, path = train(loud, tmp_path / "run", guard="act")
    assert summary.status == "finished"
    (action,) = _actions(path)
    remedy, name = REMEDY[loud.algorithm]
    assert (action["remedy"], action["step"], action["taken"]) == (remedy, 0, 0)
    store = RunReader.open(path)
    assert store.config_in_force().value_of(name) != loud.value_of(name)
    # Not only the settings: what is learned from is of another size now.
    steps = list(store.steps())
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))
    value = "q.mean" if loud.algorithm == "ddpg" else "value.loss"
    assert max(abs(step.signals.get(value, 0.0)) for step in steps) < 100.0
    assert judge(path).interventions[0].remedy == remedy


def test_a_run_that_began_anew_resumes_exactly(loud: RunConfig, tmp_path: Path) -> None:
    _, unbroken = train(loud, tmp_path / "unbroken", guard="act")
    seen: list[int] = []

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        seen.append(step.index)
        if len(set(seen)) < len(seen) - 3:  # a few Steps after it began anew
            raise Killed

    with pytest.raises(Killed):
        train(loud, tmp_path / "broken", guard="act", observers=Observers(step=kill))
    resume(tmp_path / "broken")
    assert compare_runs(unbroken, tmp_path / "broken").differences == []
    assert _actions(tmp_path / "broken") == _actions(unbroken)


def test_what_was_learned_is_not_thrown_away(
    loud: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "learned", lambda _window: "yes")
    summary, path = train(loud, tmp_path / "run", guard="act")
    assert (summary.status, _actions(path)) == ("finished", [])


def test_without_its_first_state_a_run_cannot_begin_anew(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(environment__id="test/LoudPendulum-v0", evaluation__episodes=0)
    _, path = train(config.replaced({"total_env_steps": 120}), tmp_path / "run", guard="off")
    resume(path, guard="act", overrides={"total_env_steps": 300})
    assert 0 not in RunReader.open(path).checkpoints.steps()
    assert _actions(path) == []


def test_the_first_state_is_kept_for_a_guard_that_acts_and_for_no_other(
    small_config: Make, tmp_path: Path
) -> None:
    for guard, kept in (("act", [0, 12, 15]), ("watch", [12, 15])):
        config = small_config(checkpoints__keep_best=False)
        _, path = train(config, tmp_path / guard, guard=guard)  # type: ignore[arg-type]
        assert RunReader.open(path).checkpoints.steps() == kept


def test_at_the_beginning_a_setting_may_be_whatever_a_fork_may_make_it(small_config: Make) -> None:
    live = LiveConfig(small_config())
    with pytest.raises(ConfigError, match="reward_scale cannot change while training"):
        live.change("reward_scale", 0.1, step=3, because="loud")
    live.change("reward_scale", 0.1, step=0, because="loud", anew=True)
    assert live.now.reward_scale == 0.1
    with pytest.raises(ConfigError, match="hidden_sizes cannot change"):
        live.change("hidden_sizes", (8,), step=0, because="wide", anew=True)
