"""One writer per run: who may write, who is told what, and whose name is whose."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.errors import EnvironmentFault, StoreError
from steadyrl.core.records import Step
from steadyrl.environments.envs import Envs
from steadyrl.experiments.trials import Trial, run_trial
from steadyrl.run import Observers, resume, train
from steadyrl.store import writer
from steadyrl.store.reader import RunReader
from steadyrl.store.writer import RunWriter, claim_run_path

Make = Callable[..., DDPGConfig]


@pytest.fixture
def begun(small_config: Make, tmp_path: Path) -> Path:
    """A run that nobody is writing."""
    RunWriter.create(tmp_path / "run", small_config()).close()
    return tmp_path / "run"


def test_a_second_writer_is_refused_and_told_who_the_first_is(
    small_config: Make, tmp_path: Path
) -> None:
    first = RunWriter.create(tmp_path / "run", small_config())
    said = rf"process {os.getpid()} on {socket.gethostname()} \(since 20.* is writing this run"
    with pytest.raises(StoreError, match=said):
        RunWriter.create(tmp_path / "run", small_config())
    with pytest.raises(StoreError, match=said):
        RunWriter.open(tmp_path / "run")
    first.append_event("started", 0)
    assert len(list(RunReader.open(tmp_path / "run").events())) == 1  # readers may look
    first.close()
    RunWriter.open(tmp_path / "run").close()


def test_whoever_is_refused_holds_nothing(begun: Path, small_config: Make) -> None:
    with pytest.raises(StoreError, match="there is a run here already"):
        RunWriter.create(begun, small_config())
    RunWriter.open(begun).close()


def test_a_writer_that_was_killed_holds_nothing(begun: Path) -> None:
    code = f"""
from pathlib import Path
from steadyrl.store.writer import RunWriter
store = RunWriter.open(Path({str(begun)!r}))
print("writing", flush=True)
input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        with pytest.raises(StoreError, match=f"process {process.pid} on"):
            RunWriter.open(begun)
        process.kill()
        process.wait()
        RunWriter.open(begun).close()


def test_a_run_that_is_being_written_is_neither_resumed_nor_set_aside(
    small_config: Make, tmp_path: Path
) -> None:
    writer = RunWriter.create(tmp_path / "run", small_config())
    writer.append_event("started", 0)
    with pytest.raises(StoreError, match="is writing this run"):
        resume(tmp_path / "run")
    trial = Trial(name="x", config=small_config(), directory=tmp_path / "run")
    with pytest.raises(StoreError, match="is writing this run"):
        run_trial(trial)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    writer.close()


def test_training_lets_go_of_the_run_however_it_ends(small_config: Make, tmp_path: Path) -> None:
    def fail(_: Step) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(small_config(), tmp_path / "run", observers=Observers(step=fail))
    RunWriter.open(tmp_path / "run").close()


def test_a_refused_run_closes_the_environments_it_had_made(
    begun: Path, small_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Envs] = []
    monkeypatch.setattr(Envs, "close", lambda envs: closed.append(envs))
    with pytest.raises(StoreError):
        train(small_config(), begun)
    assert len(closed) == 1


def test_two_who_look_for_a_free_name_never_get_the_same(tmp_path: Path) -> None:
    names = [claim_run_path(tmp_path / "runs" / "x.1").name for _ in range(3)]
    assert names == ["x.1", "x.1-2", "x.1-3"]


def test_a_run_that_cannot_begin_leaves_nothing(small_config: Make, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault):
        train(small_config(environment__id="Nope-v0"), tmp_path / "runs" / "x", numbered=True)
    assert list(tmp_path.iterdir()) == []


def test_without_tensorboard_a_run_is_recorded_and_told_what_it_lacks(
    small_config: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(writer, "find_spec", lambda _name: None)
    file = tmp_path / "my.yaml"
    file.write_text(small_config(total_env_steps=60, evaluation__episodes=0).to_yaml())
    assert main(["train", str(file), "--runs", str(tmp_path), "--name", "run"]) == 0
    assert "pip install 'steadyrl[tensorboard]'" in capsys.readouterr().err
    assert len(list(RunReader.open(tmp_path / "run").steps())) == 3
    assert not (tmp_path / "run" / "tensorboard").exists()
