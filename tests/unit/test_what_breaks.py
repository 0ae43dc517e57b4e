"""What a machine does to a run: it ends with a sentence, nothing is lost, it goes on exactly."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.folder import claimed_folder
from steadyrl.core.errors import ConfigError, DiskError, OutOfMemory, StoreError
from steadyrl.core.records import Step
from steadyrl.experiments.trials import Trial, run_trial
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge
from steadyrl.run import Observers, resume, train
from steadyrl.store.files import JsonLines
from steadyrl.store.reader import RunReader
from steadyrl.store.tensorboard import TensorBoardMirror
from steadyrl.store.writer import RunWriter

Make = Callable[..., DDPGConfig]
real_draw = ddpg.draw


def _in_a_process(work: Callable[[], object]) -> str:
    """What became of it in a process of its own, which it may spoil."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"fine"
        try:
            work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".encode()
        os.write(write, said)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said.decode()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_disk_that_takes_no_more_ends_the_run_and_resume_goes_on_exactly(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(total_env_steps=1200)
    train(config, tmp_path / "unbroken")
    sizes = {f.name: f.stat().st_size for f in (tmp_path / "unbroken").rglob("*") if f.is_file()}
    # No file may become as large as the record of Steps, but checkpoints fit.
    limit = (sizes["steps.jsonl"] + sizes["arrays.safetensors"]) // 2
    assert sizes["arrays.safetensors"] < limit

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        train(config, tmp_path / "run")

    said = _in_a_process(work)
    assert said.startswith("DiskError: cannot write")
    assert "free some space, then try again" in said
    assert RunReader.open(tmp_path / "run").problems == []
    resume(tmp_path / "run")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []


def test_a_run_cut_off_before_its_first_checkpoint_can_be_started_again(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()

    def full(*_args: Any, **_more: Any) -> None:
        raise DiskError("cannot write: No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "save_checkpoint", full)
        with pytest.raises(DiskError):
            train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.yaml").exists()
    train(config, tmp_path / "run")
    train(config, tmp_path / "unbroken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []
    began = [e for e in RunReader.open(tmp_path / "run").events() if e["event"] == "started"]
    assert len(began) == 1


def test_a_record_without_checkpoints_is_not_overwritten(
    small_config: Make, tmp_path: Path
) -> None:
    store = RunWriter.create(tmp_path / "watched", small_config())
    store.append_step(Step(1, 10, 0.1, {"critic.loss": 1.0}))
    store.close()
    with pytest.raises(StoreError, match="there is a run here already"):
        train(small_config(), tmp_path / "watched")
    assert [step.index for step in RunReader.open(tmp_path / "watched").steps()] == [1]


@pytest.mark.parametrize("how", ["removed", "moved away"])
def test_a_folder_that_vanishes_is_told_and_not_made_anew(
    how: str, small_config: Make, tmp_path: Path
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"

    def seen(step: Step) -> None:
        if step.index == 8:
            shutil.rmtree(run) if how == "removed" else run.rename(elsewhere)

    with pytest.raises(DiskError, match="removed or moved away"):
        train(small_config(), run, observers=Observers(step=seen))
    assert not run.exists()
    if how == "moved away":
        train(small_config(), tmp_path / "unbroken")
        resume(elsewhere)
        assert compare_runs(tmp_path / "unbroken", elsewhere).differences == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_folder_that_may_not_be_written_is_refused_in_words(small_config: Make) -> None:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)

    def work() -> None:
        if os.geteuid() == 0:  # root may write anywhere
            os.setgid(65534)
            os.setuid(65534)
        train(small_config(), folder / "run")

    said = _in_a_process(work)
    folder.chmod(0o755)
    assert said.startswith(f"DiskError: cannot write {folder / 'run'}: Permission denied")
    assert list(folder.iterdir()) == []
    folder.rmdir()


def test_a_folder_below_a_file_is_refused_in_words(small_config: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DiskError, match="Not a directory"):
        train(small_config(), tmp_path / "file" / "run")


@pytest.mark.parametrize("replay", ["uniform", "prioritised"])
def test_a_buffer_larger_than_the_memory_is_refused_in_words(
    replay: str, small_config: Make, tmp_path: Path
) -> None:
    config = small_config(buffer_size=10**15, replay=replay)
    with pytest.raises(ConfigError, match=r"buffer_size = 1,000,000,000,000,000: .* memory"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_memory_that_runs_out_ends_the_run_and_resume_goes_on_exactly(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config()
    train(config, tmp_path / "unbroken")
    drawn = []

    def draw(learner: Any, config: DDPGConfig) -> Any:
        drawn.append(1)
        if len(drawn) == 150:
            raise MemoryError("no room for 64 bytes")
        return real_draw(learner, config)

    with monkeypatch.context() as patch:
        patch.setattr(ddpg, "draw", draw)
        with pytest.raises(OutOfMemory, match="no room for 64 bytes") as told:
            train(config, tmp_path / "run")
    assert any("continue with: steadyrl train --resume" in note for note in told.value.__notes__)
    resume(tmp_path / "run")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []


def test_a_slow_disk_is_told_of_and_changes_nothing(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(total_env_steps=600)
    train(config, tmp_path / "unbroken")
    clock, sync, waited = time.perf_counter, os.fsync, [0.0]

    def slow(descriptor: int) -> None:
        waited[0] += 5.0
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", slow)
        patch.setattr(time, "perf_counter", lambda: clock() + waited[0])
        train(config, tmp_path / "run")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []
    verdict = judge(tmp_path / "run")
    assert "D035" in {finding.rule for finding in verdict.machine}
    told = {d.cause: d.remedies for d in verdict.machine_diagnoses}
    assert told["C237"][0] == "R375"
    assert "C237" not in {d.cause for d in judge(tmp_path / "unbroken").machine_diagnoses}


def test_rarer_checkpoints_may_be_asked_for_on_resume(small_config: Make, tmp_path: Path) -> None:
    config = small_config(total_env_steps=600)
    train(config, tmp_path / "unbroken")

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 11:
            raise Killed

    with pytest.raises(Killed):
        train(config, tmp_path / "run", observers=Observers(step=kill))
    saved: list[int] = []
    watch = Observers(saved=lambda step: saved.append(step.taken))
    resume(tmp_path / "run", overrides={"checkpoints.every": 200}, observers=watch)
    assert 60 not in set(np.diff(saved))
    apart = compare_runs(tmp_path / "unbroken", tmp_path / "run").differences
    what_changed = tuple(f"last checkpoint: /{part}" for part in ("config/", "guard/", "events"))
    assert [place for place in apart if not place.startswith(what_changed)] == []


def test_a_clock_that_jumps_changes_nothing(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(small_config(), tmp_path / "unbroken")
    day, real, asked = 86_400.0, time.time, []

    def jumping() -> float:
        asked.append(1)
        return real() + (day if len(asked) % 2 else -day)

    with monkeypatch.context() as patch:
        patch.setattr(time, "time", jumping)
        train(small_config(), tmp_path / "run")
    assert asked
    assert compare_runs(tmp_path / "unbroken", tmp_path / "run").differences == []
    seconds = [step.seconds for step in RunReader.open(tmp_path / "run").steps()]
    assert seconds == sorted(seconds)
    assert judge(tmp_path / "run").status == "finished"


def test_a_record_from_the_future_is_not_taken_for_one_that_was_left(
    small_config: Make, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    train(small_config(), run)
    for name in ("summary.json", ".writer.json"):
        (run / name).unlink(missing_ok=True)
    ahead = time.time() + 86_400.0
    for name in ("steps.jsonl", "events.jsonl"):
        os.utime(run / name, (ahead, ahead))
    assert judge(run).status == "going"


def test_lines_for_a_file_that_was_replaced_are_refused(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "a.jsonl")
    lines.append({"a": 1})
    (tmp_path / "a.jsonl").replace(tmp_path / "b.jsonl")
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(DiskError, match="removed or moved away"):
        lines.append({"a": 2})
    lines.close()
    assert (tmp_path / "b.jsonl").read_text() == '{"a":1}\n'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_mirror_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    mirror = TensorBoardMirror(tmp_path / "tensorboard", [])
    mirror.close()
    with Path("/dev/full").open("wb", buffering=0) as full:
        mirror._records = type(mirror._records)(full)
        with pytest.raises(DiskError, match="No space left"):
            mirror.append(Step(1, 10, 0.1, {"critic.loss": 1.0}))


def test_an_experiment_killed_as_it_claimed_its_folder_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "rescue"
    with claimed_folder(folder, "a: 1\n", what="rescue of another config"):
        (folder / "made").mkdir()
    assert (folder / "original.yaml").read_text() == "a: 1\n"
    with claimed_folder(folder, "a: 1\n", what="rescue of another config"):
        assert not list(folder.glob(".*partial"))  # what is there is not written again
    with (
        pytest.raises(ConfigError, match="holds the rescue of another config"),
        claimed_folder(folder, "a: 2\n", what="rescue of another config"),
    ):
        pass


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_disk_that_takes_no_more_says_how_the_experiment_goes_on(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(total_env_steps=1200)
    trial = Trial(name="one", config=config, directory=tmp_path / "one")
    run_trial(trial)
    steps = (tmp_path / "one" / "steps.jsonl").stat().st_size
    state = max(f.stat().st_size for f in (tmp_path / "one" / "checkpoints").rglob("*.safetensors"))
    again = Trial(name="again", config=config, directory=tmp_path / "again")

    def work() -> None:
        limit = (steps + state) // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            run_trial(again)
        except DiskError as error:
            raise RuntimeError(*error.__notes__) from error

    assert "the same command goes on" in _in_a_process(work)
    run_trial(again)
    assert compare_runs(tmp_path / "one", tmp_path / "again").differences == []
