from __future__ import annotations

import errno
import json
import math
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.signals import inspect
from steadyrl.core.errors import (
    CheckpointError,
    ConfigError,
    DiskError,
    EnvironmentFault,
    StoreError,
    TrainingDiverged,
)
from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Guarding
from steadyrl.run import Observers, resume, train
from steadyrl.store import checkpoints as checkpoints_module
from steadyrl.store.choosing import choose_checkpoint
from steadyrl.store.files import write_and_sync
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]


def test_a_run_directory_holds_what_it_promises(small_config: Make, tmp_path: Path) -> None:
    config = small_config()
    summary, path = train(config, tmp_path / "run")
    store = RunReader.open(path)
    assert store.config == config
    steps = list(store.steps())
    assert [step.taken for step in steps] == list(range(20, 301, 20))
    kinds = [event["event"] for event in store.events()]
    told = ("finding", "diagnosis")  # of a machine that others keep busy, for one
    assert [kind for kind in kinds if kind not in told] == ["started"] + 3 * ["evaluation"]
    assert summary.status == "finished"
    written = store.summary()
    assert written is not None
    assert written["taken"] == 300
    returns = [s.signals["eval.return_mean"] for s in steps if "eval.return_mean" in s.signals]
    assert written["final_return"] == pytest.approx(np.mean(returns))  # three in all
    assert written["best_return"] >= written["final_return"]
    assert store.checkpoints.steps()[-1] == steps[-1].index
    best = max((s.signals["eval.return_mean"], s.index) for s in steps if s.index in (5, 10, 15))
    assert store.checkpoints.best() == (best[1], best[0])
    assert set(store.checkpoints.steps()) == {best[1], 12, 15}


def test_the_best_checkpoint_outlives_what_came_after_it(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    returns = iter([114.0, 344.0, 120.0, 100.0, 114.0, 110.0])
    played = lambda *_: {"eval.return_mean": next(returns), "eval.return_std": 0.0}  # noqa: E731
    monkeypatch.setattr(ddpg, "evaluate_policy", played)
    config = small_config(evaluation__every=40, checkpoints__every=1000, total_env_steps=240)
    path = train(config, tmp_path / "run")[1]
    store = RunReader.open(path)
    assert store.checkpoints.best() == (4, 344.0)
    assert choose_checkpoint(store).step == 4
    assert store.checkpoints.load(4)["learner"]["counters"]["steps"] == 4
    assert choose_checkpoint(store, "last").step == 12


def test_a_checkpoint_that_is_not_there_is_refused_with_those_that_are(
    small_config: Make, tmp_path: Path
) -> None:
    store = RunReader.open(train(small_config(), tmp_path / "run")[1])
    with pytest.raises(ConfigError, match=r"checkpoint '7': use best, last, or .*12, 15"):
        choose_checkpoint(store, 7)


def test_tensorboard_mirrors_every_signal_under_its_tag(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "run")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    steps = list(RunReader.open(tmp_path / "run").steps())
    for name in ("critic.loss", "actor.loss", "eval.return_mean", "rollout.return_mean"):
        mirrored = [(event.step, event.value) for event in events.Scalars(CATALOGUE[name].tag)]
        recorded = [(s.taken, np.float32(s.signals[name])) for s in steps if name in s.signals]
        assert mirrored == recorded
    recorded_names = {name for step in steps for name in step.signals}
    assert set(events.Tags()["scalars"]) == {CATALOGUE[name].tag for name in recorded_names}


def _stop_after(index: int, how: signal.Signals = signal.SIGINT) -> Callable[[Step], None]:
    def observe(step: Step) -> None:
        if step.index == index:
            os.kill(os.getpid(), how)

    return observe


def test_an_interrupt_stops_at_a_step_with_a_checkpoint_and_resume_is_exact(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config()
    train(config, tmp_path / "unbroken")
    summary, path = train(config, tmp_path / "broken", observers=Observers(step=_stop_after(7)))
    assert (summary.status, summary.steps) == ("interrupted", 7)
    assert "SIGINT" in summary.message
    assert RunReader.open(path).checkpoints.steps()[-1] == 7
    assert resume(path).status == "finished"
    assert compare_runs(tmp_path / "unbroken", path).differences == []


@pytest.fixture
def _no_nohup() -> Iterator[None]:
    """As if the tests had not been started with it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("_no_nohup")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_machine_that_shuts_down_or_a_closed_terminal_ends_a_run_as_an_interrupt_does(
    how: signal.Signals, small_config: Make, tmp_path: Path
) -> None:
    before = signal.getsignal(how)
    stop = Observers(step=_stop_after(7, how))
    summary, path = train(small_config(), tmp_path / "run", observers=stop)
    assert (summary.status, summary.steps) == ("interrupted", 7)
    assert how.name in summary.message
    assert RunReader.open(path).checkpoints.steps()[-1] == 7
    assert signal.getsignal(how) is before


@pytest.mark.usefixtures("_no_nohup")
def test_a_closed_terminal_may_be_told_of_twice(small_config: Make, tmp_path: Path) -> None:
    def observe(step: Step) -> None:
        if step.index == 7:
            os.kill(os.getpid(), signal.SIGHUP)  # by the shell
            os.kill(os.getpid(), signal.SIGHUP)  # by the kernel

    summary, path = train(small_config(), tmp_path / "run", observers=Observers(step=observe))
    assert (summary.status, summary.message) == ("interrupted", "stopped by SIGHUP")
    assert RunReader.open(path).checkpoints.steps()[-1] == 7


@pytest.mark.usefixtures("_no_nohup")
@pytest.mark.parametrize("at_once", [True, False])
def test_a_session_that_ends_says_so_in_two_ways(
    at_once: bool, small_config: Make, tmp_path: Path
) -> None:
    both = {signal.SIGTERM, signal.SIGHUP}

    def observe(step: Step) -> None:
        if step.index == 7:
            if at_once:  # both come while C code runs; the lower number is handled first
                signal.pthread_sigmask(signal.SIG_BLOCK, both)
            for number in (signal.SIGHUP, signal.SIGTERM):
                os.kill(os.getpid(), number)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)

    summary, path = train(small_config(), tmp_path / "run", observers=Observers(step=observe))
    assert (summary.status, summary.message) == ("interrupted", "stopped by SIGHUP")
    assert RunReader.open(path).checkpoints.steps()[-1] == 7


@pytest.mark.usefixtures("_no_nohup")
def test_a_terminal_that_closes_while_a_run_is_put_away_ends_nothing(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("checkpoint", "finish"):
        original = getattr(Guarding, name)

        def told(*given: Any, original: Callable[..., Any] = original) -> Any:
            os.kill(os.getpid(), signal.SIGHUP)
            return original(*given)

        monkeypatch.setattr(Guarding, name, told)
    summary, path = train(small_config(checkpoints__every=1000), tmp_path / "run")
    assert summary.status == "finished"
    assert RunReader.open(path).checkpoints.steps()[-1] == summary.steps
    written = RunReader.open(path).summary()
    assert written is not None
    assert written["status"] == "finished"


@pytest.mark.usefixtures("_no_nohup")
def test_a_wish_to_stop_at_once_is_heard_after_a_closed_terminal(
    small_config: Make, tmp_path: Path
) -> None:
    def observe(step: Step) -> None:
        if step.index == 7:
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGTERM):
                os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        train(small_config(), tmp_path / "run", observers=Observers(step=observe))


@pytest.mark.usefixtures("_no_nohup")
def test_who_said_nohup_is_not_stopped_by_a_closed_terminal(
    small_config: Make, tmp_path: Path
) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Observers(step=_stop_after(7, signal.SIGHUP))
    summary, _ = train(small_config(), tmp_path / "run", observers=stop)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert summary.status == "finished"


@pytest.mark.usefixtures("_no_nohup")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])
def test_what_a_terminal_tells_a_whole_group_is_the_runs_to_hear(
    how: signal.Signals, small_config: Make, tmp_path: Path
) -> None:
    def observe(step: Step) -> None:
        if step.index == 7:
            for process in psutil.Process().children(recursive=True):
                told.append(process.pid)
                process.send_signal(how)

    told: list[int] = []
    config = small_config(environment__count=2, environment__processes=2)
    summary, _ = train(config, tmp_path / "run", observers=Observers(step=observe))
    assert len(told) >= 2
    assert summary.status == "finished"  # the copies have not ended; the run was not told


@pytest.mark.parametrize(
    "overrides",
    [
        {"replay": "prioritised"},
        {"twin_critics": True, "policy_delay": 2, "target_noise_std": 0.2},
        {"environment__count": 3},
        {"normalize_observations": True},
        {"environment__id": "steadyrl/ResidualControl-v0", "environment__count": 2},
        {"buffer_size": 64},
    ],
    ids=lambda overrides: next(iter(overrides)),
)
def test_resume_is_exact_for_every_part_that_has_state(
    small_config: Make, tmp_path: Path, overrides: dict[str, Any]
) -> None:
    config = small_config(**overrides)
    train(config, tmp_path / "unbroken")
    train(config, tmp_path / "broken", observers=Observers(step=_stop_after(8)))
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []


def test_the_comparison_notices_a_single_changed_bit(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "a")
    train(small_config(learning_rate=np.nextafter(1e-3, 1).item()), tmp_path / "b")
    assert compare_runs(tmp_path / "a", tmp_path / "b").differences


def test_steps_after_the_last_checkpoint_are_redone_not_repeated(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config()
    train(config, tmp_path / "unbroken")

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 8:  # checkpoints fall on Steps 3, 6, 9 ...
            raise Killed

    with pytest.raises(Killed):
        train(config, tmp_path / "broken", observers=Observers(step=kill))
    store = RunReader.open(tmp_path / "broken")
    assert (store.checkpoints.steps()[-1], len(list(store.steps()))) == (6, 8)
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
    assert [step.index for step in store.steps()] == list(range(1, 16))


def test_a_run_can_be_made_longer_but_not_otherwise_changed(
    small_config: Make, tmp_path: Path
) -> None:
    _, path = train(small_config(), tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"batch_size = 8.*was 16"):
        resume(path, overrides={"batch_size": 8})
    assert len(list(RunReader.open(path).steps())) == 15
    summary = resume(path, overrides={"total_env_steps": 400})
    assert summary.taken == 400
    train(small_config(total_env_steps=400), tmp_path / "long")
    # The longer run remembers that it was extended; nothing else may differ.
    differences = compare_runs(tmp_path / "long", path).differences
    known = ("/config/changes", "/guard/remedied/total_env_steps")
    assert all(any(name in difference for name in known) for difference in differences)
    changes = [e for e in RunReader.open(path).events() if e["event"] == "change"]
    assert [(c["name"], c["before"], c["after"]) for c in changes] == [
        ("total_env_steps", 300, 400)
    ]


def test_an_edited_config_file_is_refused_on_resume(small_config: Make, tmp_path: Path) -> None:
    _, path = train(small_config(), tmp_path / "run")
    file = path / "config.yaml"
    file.write_text(file.read_text().replace("tau: 0.005", "tau: 0.5"))
    with pytest.raises(CheckpointError, match=r"tau = 0\.5.*made with 0\.005"):
        resume(path)


def test_a_second_run_never_overwrites_the_first(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "run")
    with pytest.raises(StoreError, match="there is a run here already"):
        train(small_config(), tmp_path / "run")


def test_a_nan_observation_ends_the_run_and_keeps_what_was_written(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(
        environment__id="test/Countdown-v0",
        environment__settings={"length": 150, "poison_at": 20},
        evaluation__episodes=0,
    )
    with pytest.raises(EnvironmentFault, match="nan"):
        train(config, tmp_path / "run")
    store = RunReader.open(tmp_path / "run")
    assert len(list(store.steps())) == 6
    summary = store.summary()
    assert summary is not None
    assert summary["status"] == "failed"
    assert "nan" in summary["message"]
    assert store.checkpoints.steps() == [3, 6]


def test_a_disk_that_fills_up_ends_the_run_and_resume_goes_on_exactly(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    train(config, tmp_path / "unbroken")
    real, calls = write_and_sync, []

    def full(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) > 2:  # the third checkpoint
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(checkpoints_module, "write_and_sync", full)
    with pytest.raises(DiskError, match="No space left"):
        train(config, tmp_path / "run")
    monkeypatch.undo()
    store = RunReader.open(tmp_path / "run")
    assert store.checkpoints.steps() == [0, 3]
    assert not list((tmp_path / "run" / "checkpoints").glob(".partial*"))
    resume(tmp_path / "run")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []


def test_divergence_is_told_apart_from_a_broken_environment_and_leaves_a_good_checkpoint(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(learning_rate=1e30, learning_starts=100, checkpoints__keep=1)
    with pytest.raises(TrainingDiverged, match="weights are no longer finite"):
        train(config, tmp_path / "run")
    store = RunReader.open(tmp_path / "run")
    assert store.checkpoints.last_good() == 5  # evaluated just before the first update
    assert all(math.isfinite(v) for step in store.steps() for v in step.signals.values())


def test_no_checkpoint_is_good_after_a_severe_finding(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = inspect

    def poisoned(learner: Any, envs: Any, config: Any, targets: Any) -> dict[str, float]:
        signals = measured(learner, envs, config, targets)
        return signals | ({"q.bound": math.nan} if envs.steps_taken == 100 else {})

    monkeypatch.setattr(ddpg, "inspect", poisoned)
    config = small_config(checkpoints__keep=9, checkpoints__keep_best=False)
    train(config, tmp_path / "run")
    store = RunReader.open(tmp_path / "run")
    assert store.checkpoints.steps() == [0, 3, 6, 9, 12, 15]
    assert store.checkpoints.last_good() == 3
    found = [e for e in store.events() if e["event"] == "finding" and e["rule"] == "D001"]
    assert [(e["step"], e["evidence"]) for e in found] == [(5, {"q.bound": "nan"})]
    text = (tmp_path / "run" / "steps.jsonl").read_text().splitlines()
    assert '"nan"' in text[4]
    json.loads(text[4], parse_constant=pytest.fail)
