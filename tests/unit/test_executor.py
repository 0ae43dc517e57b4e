"""Both engines: everything gets done once, whatever dies on the way."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from steadyrl.core.errors import ConfigError, WorkerLost
from steadyrl.experiments import executor as executor_module
from steadyrl.experiments.executor import LocalExecutor, make_executor


def leave_a_mark(name: str, folder: Path) -> None:
    """As a trial does: leaves its result on disk, does nothing if it is there."""
    (folder / name).touch()


def die_once(name: str, folder: Path) -> None:
    """The first worker that takes item "b" is killed in the middle of it."""
    begun = folder / f"{name}.begun"
    if name == "b" and not begun.exists():
        begun.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / name).touch()


def kill_an_idle_one(name: str, folder: Path) -> None:
    """Item "first" leaves a worker with nothing to do; "second" kills it while it waits."""
    mine, begun, done = folder / name, folder / "second.begun", folder / "first"
    if name == "first":
        while not begun.exists():  # by the other worker
            os.sched_yield()
        mine.with_suffix(".new").write_text(str(os.getpid()))
        mine.with_suffix(".new").replace(mine)
    elif not (folder / "killed").exists():
        begun.touch()
        while not done.exists():
            os.sched_yield()
        idle = int(done.read_text())
        while Path(f"/proc/{idle}/stat").read_text().rsplit(")", 1)[1].split()[0] != "S":
            os.sched_yield()
        (folder / "killed").touch()
        os.kill(idle, signal.SIGKILL)
        signal.pause()  # a run that goes on until it hears something
    mine.touch()


def always_die(name: str, folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_at_a(name: str, folder: Path) -> None:
    (folder / name).touch()
    if name == "a":
        raise KeyboardInterrupt


def write_thread_limit(name: str, folder: Path) -> None:
    (folder / name).write_text(os.environ.get("OMP_NUM_THREADS", "none"))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_is_done_and_yielded_once(workers: int, tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    executor = LocalExecutor(workers=workers)
    done = list(executor.each(partial(leave_a_mark, folder=tmp_path), names))
    assert sorted(done) == names
    assert sorted(file.name for file in tmp_path.iterdir()) == names


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    done = list(LocalExecutor(workers=2).each(partial(die_once, folder=tmp_path), names))
    assert sorted(done) == names
    assert all((tmp_path / name).exists() for name in names)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc whether a worker waits")
def test_a_worker_that_is_killed_while_it_waits_for_work_keeps_nobody(tmp_path: Path) -> None:
    """It holds the lock with which the others would ask for work, or be told that there is none."""
    work = partial(kill_an_idle_one, folder=tmp_path)
    done = list(LocalExecutor(workers=2).each(work, ["first", "second"]))
    assert sorted(done) == ["first", "second"]
    assert (tmp_path / "second").exists()


def test_workers_that_keep_dying_end_the_experiment_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match="2 of 2 are not done"):
        list(LocalExecutor(workers=2).each(partial(always_die, folder=tmp_path), ["a", "b"]))


def test_an_interruption_reaches_the_caller(tmp_path: Path) -> None:
    names = ["a", *"bcdefghij"]
    with pytest.raises(KeyboardInterrupt):
        list(LocalExecutor(workers=2).each(partial(interrupt_at_a, folder=tmp_path), names))
    assert (tmp_path / "a").exists()


def test_a_worker_that_was_interrupted_begins_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_module, "_WORKER", {"parent": os.getppid()})
    work = partial(interrupt_at_a, folder=tmp_path)
    for name in ("a", "b"):
        with pytest.raises(KeyboardInterrupt):
            executor_module._work_unless_stopped(work, name)
    assert (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()  # the pool had handed it out already


def wait_unless_first(name: str, folder: Path) -> None:
    """Leaves a mark; all but the first item then wait for a signal."""
    leave_a_mark(name, folder)
    if name != "0":
        signal.pause()


def test_leaving_early_leaves_the_rest_undone(tmp_path: Path) -> None:
    names = [str(number) for number in range(50)]
    executor = LocalExecutor(workers=2)
    with closing(executor.each(partial(wait_unless_first, folder=tmp_path), names)) as finished:
        assert next(finished) == "0"
    # All others wait to be told to stop, so no worker can have gone further than its first wait.
    assert len(list(tmp_path.iterdir())) <= 4


def test_each_worker_gets_its_share_of_the_threads(tmp_path: Path) -> None:
    workers = os.cpu_count() or 1
    executor = LocalExecutor(workers=max(2, workers))
    list(executor.each(partial(write_thread_limit, folder=tmp_path), ["a", "b"]))
    assert {file.read_text() for file in tmp_path.iterdir()} == {"1"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"backend": "local", "workers": 0}, "workers = 0: use 1 or more"),
        ({"backend": "local", "workers": 2, "address": "auto"}, "needs --backend ray"),
    ],
)
def test_an_engine_that_cannot_be_is_refused(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make_executor(**settings)  # type: ignore[arg-type]


def stop_between_runs(parent: int, folder: Path) -> None:
    executor_module._begin_worker(1, parent)
    os.kill(os.getpid(), signal.SIGTERM)
    (folder / "alive").touch()
    with pytest.raises(KeyboardInterrupt):
        executor_module._work_unless_stopped(partial(leave_a_mark, folder=folder), "begun")


def stop_before_training(name: str, folder: Path) -> None:
    """As if the signal came while torch is imported: no run is there yet that could hear it."""
    os.kill(os.getpid(), signal.SIGTERM)
    leave_a_mark(f"{name} went on", folder)


def stopped_before_training(parent: int, folder: Path) -> None:
    executor_module._begin_worker(1, parent)
    with pytest.raises(KeyboardInterrupt):
        executor_module._work_unless_stopped(partial(stop_before_training, folder=folder), "a")
    with pytest.raises(KeyboardInterrupt):
        executor_module._work_unless_stopped(partial(leave_a_mark, folder=folder), "b")


def test_a_worker_that_is_told_to_stop_before_its_run_can_hear_it_does_not_begin(
    tmp_path: Path,
) -> None:
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=stopped_before_training, args=(os.getpid(), tmp_path))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert not list(tmp_path.iterdir())


def test_a_worker_that_is_told_to_stop_between_two_runs_lives_and_begins_no_other(
    tmp_path: Path,
) -> None:
    """Killed there, it might hold a lock that the others wait for."""
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=stop_between_runs, args=(os.getpid(), tmp_path))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["alive"]
