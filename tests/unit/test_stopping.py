"""Runs that end before their budget because nothing improves, and learning rates on their way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.run import resume, train
from steadyrl.stability.controllers import CONTROLLERS, reuse
from steadyrl.stability.stopping import reason_to_stop
from steadyrl.stability.window import Window
from steadyrl.store.reader import RunReader
from tests.unit.test_ppo_replay import control


def seen(scores: list[float], signal: str = "eval.return_mean") -> Window:
    window = Window()
    for index, score in enumerate(scores, start=1):
        window.append(Step(index, index, 0.0, {signal: score}))
    return window


def patient(patience: int | None, threshold: float = 0.0) -> RunConfig:
    return control(stopping__patience=patience, stopping__threshold=threshold)


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ([1.0, 2.0, 1.5, 1.9], False),
        ([1.0, 2.0, 1.5, 1.9, 2.0], True),
        ([1.0, 2.0, 1.5, 1.9, 2.1], False),
        ([3.0, 3.0, 3.0, 3.0], True),
        ([3.0], False),
    ],
)
def test_it_stops_after_so_many_evaluations_without_a_new_best(
    scores: list[float], stops: bool
) -> None:
    reason = reason_to_stop(seen(scores), patient(3))
    assert (reason is not None) == stops
    if reason is not None:
        assert "3 evaluations without one better than the best return" in reason


def test_a_gain_below_the_threshold_is_none() -> None:
    rising = [1.0, 1.05, 1.1, 1.15]
    assert reason_to_stop(seen(rising), patient(2)) is None
    reason = reason_to_stop(seen(rising), patient(2, 0.5))
    assert reason is not None
    assert "by more than 0.5" in reason


def test_nobody_asked_nobody_stops() -> None:
    assert reason_to_stop(seen([1.0] * 50), patient(None)) is None


def test_an_early_stop_is_a_finished_run_with_its_reason_on_record(tmp_path: Path) -> None:
    config = control(
        learning_rate=0.0,
        evaluation__episodes=2,
        evaluation__every=64,
        evaluation__most_likely=True,
        environment__id="MountainCar-v0",
        stopping__patience=2,
    )
    summary, path = train(config, tmp_path / "run")
    assert summary.status == "finished"
    assert summary.taken == 3 * 64
    assert "stopped early: 2 evaluations" in summary.message
    (event,) = [e for e in RunReader.open(path).events() if e["event"] == "stopped early"]
    assert event["because"] == summary.message


def test_a_run_that_stopped_early_goes_on_if_asked(tmp_path: Path) -> None:
    config = control(
        learning_rate=0.0,
        evaluation__episodes=1,
        evaluation__every=64,
        environment__id="MountainCar-v0",
        stopping__patience=1,
    )
    _, path = train(config, tmp_path / "run")
    assert resume(path).taken == 3 * 64


# Rates


@pytest.mark.parametrize("algorithm", ["ppo", "ddpg", "language", "bc"])
def test_every_trainer_with_a_rate_has_the_same_schedules(algorithm: str) -> None:
    plain: dict[str, Any] = {"algorithm": algorithm}
    if algorithm in ("ppo", "ddpg"):
        plain["environment"] = {"id": "Pendulum-v1"}
    if algorithm == "bc":
        plain |= {"demonstrations": {"path": "some.npz"}, "evaluation": {"episodes": 0}}
    for schedule, halfway in (("constant", 1.0), ("linear", 0.5), ("cosine", 0.5)):
        config: Any = parse_config({**plain, "learning_rate_schedule": schedule, "warm_up": 4})
        assert [config.pace_at(update, 0.5) for update in (0, 1, 3)] == [0.25, 0.5, 1.0]
        assert config.pace_at(4, 0.5) == pytest.approx(halfway)
        assert config.pace_at(4, 1.0) == pytest.approx(1.0 if schedule == "constant" else 0.0)


def test_ddpg_lowers_both_of_its_rates_alike() -> None:
    config = parse_config(
        {
            "algorithm": "ddpg",
            "environment": {"id": "Pendulum-v1"},
            "learning_rate": 1e-3,
            "actor_learning_rate": 1e-4,
            "learning_rate_schedule": "linear",
        }
    )
    assert isinstance(config, DDPGConfig)
    late = config.paced(1_000, 0.75)
    assert late.learning_rate == pytest.approx(2.5e-4)
    assert late.actor_learning_rate == pytest.approx(2.5e-5)
    assert config.paced(1_000, 0.0) is config


# Reuse


def reused(moved: float | None, **settings: Any) -> int | None:
    window = Window()
    window.append(Step(1, 1, 0.0, {} if moved is None else {reuse.MOVED: moved}))
    found = reuse.adjust(
        window, control(replay__enabled=True, replay__adaptive_reuse=True, **settings)
    )
    return found.changes["replay.reuse"] if found else None


def test_items_are_used_more_often_while_the_policy_hardly_moves() -> None:
    assert reused(0.009) == 6
    assert reused(0.01) == 2
    assert reused(0.009, replay__reuse=6) is None
    assert reused(None) is None
    assert reused(0.009, replay__reuse_slow=9) == 9
    assert reuse.adjust in CONTROLLERS


def test_the_change_is_on_record_and_holds_from_the_next_update(tmp_path: Path) -> None:
    config = control(
        replay__enabled=True, replay__adaptive_reuse=True, learning_rate=0.0, replay__reuse_slow=3
    )
    _, path = train(config, tmp_path / "run")
    (change,) = RunReader.open(path).changes()
    assert (change.name, change.before, change.after) == ("replay.reuse", 4, 3)
    assert "below 0.01" in change.because
    uses = [step.signals.get("aged.uses_max", 0.0) for step in RunReader.open(path).steps()]
    assert max(uses) <= 3
