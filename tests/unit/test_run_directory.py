"""A run's files: what is told of damage, what a way back leaves, what TensorBoard shows of it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.records import Finding, RunSummary, Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.run import Observers, resume, train
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.run_directory import RunDirectory

Make = Callable[..., DDPGConfig]

FINDING = Finding(
    rule="D001",
    name="non-finite",
    severity="severe",
    step=3,
    taken=300,
    message="a number is none",
    evidence={"q.bound": float("nan")},
)


@pytest.fixture
def recorded(small_config: Make, tmp_path: Path) -> Path:
    """A run of ten Steps that has ended, without any training."""
    store = RunDirectory.create(tmp_path / "run", small_config())
    store.append_event("started", 0, guard="watch")
    for index in range(1, 11):
        store.append_step(Step(index, 100 * index, float(index), {"critic.loss": 1.0 / index}))
    store.append_event("finding", 3, **{k: v for k, v in FINDING.to_json().items() if k != "step"})
    store.write_summary(_summary(10))
    store.close()
    return tmp_path / "run"


def _summary(steps: int) -> RunSummary:
    return RunSummary(
        status="finished",
        algorithm="ddpg",
        task="Pendulum-v1",
        seed=0,
        steps=steps,
        taken=100 * steps,
        seconds=1.0,
    )


def _replace_line(file: Path, number: int, by: str) -> None:
    lines = file.read_text().splitlines()
    lines[number - 1] = by
    file.write_text("\n".join(lines) + "\n")


def _indices(path: Path) -> list[int]:
    return [step.index for step in RunDirectory.open(path).steps()]


def _events(path: Path, kind: str) -> list[dict[str, Any]]:
    return [event for event in RunDirectory.open(path).events() if event["event"] == kind]


def test_an_intact_run_has_no_problems(recorded: Path) -> None:
    assert RunDirectory.open(recorded).problems == []


@pytest.mark.parametrize(
    "line",
    [
        '{"index": 4, "taken',
        "[4, 400]",
        '{"index": 4, "taken": 400, "seconds": 4.0}',
        '{"index": "4", "taken": 400, "seconds": 4.0, "signals": {}}',
        '{"index": 4, "taken": 400, "seconds": 4.0, "signals": {"critic.loss": "low"}}',
        '{"index": 4, "taken": 400, "seconds": 4.0, "signals": {"critic.loss": [1]}}',
    ],
)
def test_what_is_no_step_is_passed_over_and_told(recorded: Path, line: str) -> None:
    _replace_line(recorded / "steps.jsonl", 4, line)
    assert _indices(recorded) == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert RunDirectory.open(recorded).problems == [
        "steps.jsonl: 1 line is damaged and was passed over",
        "step 4 is missing from steps.jsonl",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "null",
        '{"event": "finding"}',
        '{"event": "finding", "step": 3, "rule": "D001"}',
        '{"event": "change", "step": 3, "name": "tau"}',
        '{"event": "probe", "step": 3, "probe": "Q501", "statement": "x", "loss": "high"}',
        '{"step": 3}',
    ],
)
def test_what_is_no_event_is_passed_over_and_told(recorded: Path, line: str) -> None:
    _replace_line(recorded / "events.jsonl", 2, line)
    assert [event["event"] for event in RunDirectory.open(recorded).events()] == ["started"]
    assert RunDirectory.open(recorded).problems == [
        "events.jsonl: 1 line is damaged and was passed over"
    ]


def test_signals_that_are_not_finite_are_no_damage(recorded: Path) -> None:
    store = RunDirectory.open(recorded)
    assert [event["rule"] for event in store.events() if event["event"] == "finding"] == ["D001"]
    line = '{"index": 4, "taken": 400, "seconds": 4, "signals": {"critic.loss": "-inf"}}'
    _replace_line(recorded / "steps.jsonl", 4, line)
    assert store.problems == []


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([], "steps 1 to 10 are missing from steps.jsonl"),
        ([1, 2, 3, 4, 5], "steps 6 to 10 are missing from steps.jsonl"),
        ([2, 3, 4, 6, 10], "steps 1, 5 and 7 to 9 are missing from steps.jsonl"),
        ([2, 4, 6, 8, 10], "steps 1, 3, 5, 7 and more (5 in all) are missing from steps.jsonl"),
        ([1, 2, 3, 3, *range(4, 11)], "steps.jsonl: Steps are repeated or out of order in 1 place"),
    ],
)
def test_steps_that_are_missing_or_doubled_are_named(
    recorded: Path, kept: list[int], said: str
) -> None:
    lines = (recorded / "steps.jsonl").read_text().splitlines(keepends=True)
    (recorded / "steps.jsonl").write_text("".join(lines[index - 1] for index in kept))
    assert RunDirectory.open(recorded).problems == [said]


def test_a_reader_that_stays_sees_damage_that_came_later(recorded: Path) -> None:
    store = RunDirectory.open(recorded)
    assert store.problems == []
    _replace_line(recorded / "steps.jsonl", 10, "gone")
    assert len(list(store.steps())) == 9
    assert len(store.problems) == 2


def test_a_resume_without_the_recorded_steps_says_so_and_the_record_remembers(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = train(small_config(evaluation__episodes=0), tmp_path / "run")
    (path / "steps.jsonl").unlink()
    longer = ["--total-env-steps", "340"]
    assert main(["train", "--resume", str(path), *longer, "--json", "--quiet"]) == 0
    missing = "steps 1 to 15 are missing from steps.jsonl"
    assert capsys.readouterr().err == f"warning: {path}: {missing}\n"
    assert [event["problem"] for event in _events(path, "damage")] == [missing]
    assert RunDirectory.open(path).problems == [missing]
    assert _indices(path) == [16, 17]


def test_what_is_redone_after_a_resume_is_whole_again(small_config: Make, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 8:  # checkpoints fall on Steps 3, 6, 9 ...
            raise Killed

    with pytest.raises(Killed):
        train(small_config(), tmp_path / "run", observers=Observers(step=kill))
    _replace_line(tmp_path / "run" / "steps.jsonl", 7, "damaged after the checkpoint")
    resume(tmp_path / "run")
    assert _indices(tmp_path / "run") == list(range(1, 16))
    assert RunDirectory.open(tmp_path / "run").problems == []


def test_a_run_that_goes_on_has_no_end_yet(recorded: Path) -> None:
    store = RunDirectory.open(recorded)
    store.rewind(6, events=1, returns=0)
    assert store.summary() is None
    assert _indices(recorded) == [1, 2, 3, 4, 5, 6]
    assert store.problems == []


def test_a_rewind_that_is_killed_at_any_file_operation_is_made_again(
    recorded: Path, tmp_path: Path
) -> None:
    store = RunDirectory.open(recorded)
    for step in (3, 6):
        store.checkpoints.save({"events": 1}, step=step, good=True)
    (store.checkpoints.path(6) / "arrays.safetensors").write_bytes(b"damaged")

    class Killed(BaseException):
        pass

    def rewind(path: Path, operations: int) -> int:
        """Rewind, but die at the last of so many operations; returns how many there were."""
        done = 0

        def counted(operation: Callable[..., Any]) -> Callable[..., Any]:
            def operate(*arguments: Any, **settings: Any) -> Any:
                nonlocal done
                done += 1
                if done == operations:
                    raise Killed
                return operation(*arguments, **settings)

            return operate

        with pytest.MonkeyPatch.context() as patch:
            for name in ("rename", "truncate", "unlink", "rmdir"):
                patch.setattr(os, name, counted(getattr(os, name)))
            opened = RunDirectory.open(path)
            step, state, _ = opened.checkpoints.load_latest()
            opened.rewind(step, events=state["events"], returns=0)
        return done

    shutil.copytree(recorded, tmp_path / "whole")
    for number in range(1, rewind(tmp_path / "whole", 0) + 1):
        copy = shutil.copytree(recorded, tmp_path / f"{number}")
        with contextlib.suppress(Killed):  # some are tried only: a file may be missing
            rewind(copy, number)
        rewind(copy, 0)
        assert _indices(copy) == [1, 2, 3]
        assert [event["event"] for event in RunDirectory.open(copy).events()] == ["started"]
        assert RunDirectory.open(copy).checkpoints.steps() == [3]


def _mirrored(path: Path) -> list[tuple[int, float]]:
    """The curve of a signal as TensorBoard would draw it now."""
    events = EventAccumulator(str(path / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    tag = CATALOGUE["critic.loss"].tag
    drawn = events.Scalars(tag) if tag in events.Tags()["scalars"] else []
    return [(event.step, event.value) for event in drawn]


def _recorded(path: Path) -> list[tuple[int, float]]:
    steps = RunDirectory.open(path).steps()
    return [(s.taken, float(np.float32(s.signals["critic.loss"]))) for s in steps]


@pytest.mark.parametrize("back", ["rewind", "abandon"])
def test_tensorboard_shows_what_stands_after_going_back_and_on(recorded: Path, back: str) -> None:
    store = RunDirectory.open(recorded)
    assert len(_mirrored(recorded)) == 10
    if back == "rewind":
        store.rewind(6, events=1, returns=0)
    else:
        store.abandon(6, returns=1)
    assert _mirrored(recorded) == _recorded(recorded)
    assert len(_mirrored(recorded)) == 6
    store.append_step(Step(7, 700, 7.0, {"critic.loss": 5.0}))
    store.close()
    assert _mirrored(recorded) == _recorded(recorded)
    assert _mirrored(recorded)[-1] == (700, 5.0)


def test_a_tensorboard_that_is_open_forgets_what_no_longer_stands(recorded: Path) -> None:
    watching = EventAccumulator(str(recorded / "tensorboard"), size_guidance={"scalars": 0})
    watching.Reload()
    store = RunDirectory.open(recorded)
    store.abandon(6, returns=1)
    watching.Reload()
    drawn = watching.Scalars(CATALOGUE["critic.loss"].tag)
    store.close()
    assert [event.step for event in drawn] == [100, 200, 300, 400, 500, 600]


def test_files_of_older_mirrors_do_not_pile_up(recorded: Path) -> None:
    for step in (9, 8, 7, 6):
        store = RunDirectory.open(recorded)
        store.rewind(step, events=1, returns=0)
        store.close()
    assert len(list((recorded / "tensorboard").iterdir())) == 2  # this one, and one just emptied
    assert _mirrored(recorded) == _recorded(recorded)


def test_our_own_reader_sees_in_the_mirror_what_stands(recorded: Path) -> None:
    store = RunDirectory.open(recorded)
    store.rewind(6, events=1, returns=0)
    store.close()
    shown = ForeignRun(recorded / "tensorboard")
    assert [step.taken for step in shown.steps()] == [100, 200, 300, 400, 500, 600]
    assert shown.problems == []


def test_what_a_kill_kept_from_the_mirror_is_there_after_a_resume(recorded: Path) -> None:
    shutil.rmtree(recorded / "tensorboard")
    store = RunDirectory.open(recorded)
    store.rewind(10, events=2, returns=0)
    store.close()
    assert _mirrored(recorded) == _recorded(recorded)


def test_events_that_are_gone_are_told(recorded: Path) -> None:
    (recorded / "events.jsonl").unlink()
    told = RunDirectory.open(recorded).rewind(10, events=2, returns=0)
    assert told == ["events.jsonl: 2 of 2 lines are missing"]


def test_a_damaged_event_does_not_shift_what_is_kept(recorded: Path) -> None:
    with (recorded / "events.jsonl").open("a") as file:
        file.write('{"event": "evaluation", "step": 10}\n')
    _replace_line(recorded / "events.jsonl", 1, "damaged")
    store = RunDirectory.open(recorded)
    told = store.rewind(10, events=2, returns=0)
    assert [event["event"] for event in store.events()] == ["finding"]
    assert told == ["events.jsonl: 1 line is damaged and was passed over"]


def test_a_checkpoint_counts_damaged_events_too(recorded: Path) -> None:
    _replace_line(recorded / "events.jsonl", 1, "damaged")
    store = RunDirectory.open(recorded)
    store.save_checkpoint({}, step=10, good=True)
    assert store.checkpoints.load(10)["events"] == 2
