"""The guard goes back: whenever it is killed on the way, the run is whole and says what it did."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steadyrl import guarding
from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.signals import inspect
from steadyrl.core.errors import TrainingDiverged
from steadyrl.core.records import Diagnosis, Intervention, Step
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Guarding
from steadyrl.run import Observers, fork, resume, train
from steadyrl.stability.controllers.adjustment import Adjustment
from steadyrl.stability.guard import Action
from steadyrl.store.files import JsonLines
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]

CAUSE = Diagnosis(
    cause="C201",
    name="learning-rate-too-high",
    confidence=0.9,
    onset=1,
    explains=(),
    evidence_for=(),
    evidence_against=(),
    would_decide="",
    remedies=(),
)
FIRST = {"learning_rate": 1e-4}
SECOND = {"tau": 0.01}


@pytest.fixture
def config(small_config: Make) -> DDPGConfig:
    """Nine Steps of twenty env steps, a checkpoint after every third."""
    return small_config(
        total_env_steps=180,
        batch_size=4,
        hidden_sizes=[4],
        evaluation__episodes=0,
        checkpoints__keep=9,
    )


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes Steps sick while settings are as they began, and tells the guard what helps."""

    def install(*sick: tuple[int, Mapping[str, Any]], diverges_at: int = -1) -> None:
        def poisoned(learner: Any, envs: Any, config: Any, targets: Any) -> dict[str, float]:
            signals = inspect(learner, envs, config, targets)
            for taken, remedy in sick:
                if not _in_force(config, remedy):
                    if envs.steps_taken == diverges_at:
                        raise TrainingDiverged("a weight is no longer finite")
                    if envs.steps_taken == taken:
                        return signals | {"q.bound": math.nan}
            return signals

        def choose(
            _diagnoses: Any, config: Any, _window: Any, _tried: Any, *, severe: bool, anew: bool
        ) -> Action | None:
            left = [(f"R{n}", r) for n, (_, r) in enumerate(sick) if not _in_force(config, r)]
            return Action(CAUSE, *left[0]) if left and severe else None

        monkeypatch.setattr(ddpg, "inspect", poisoned)
        monkeypatch.setattr(guarding, "choose_action", choose)

    return install


def _in_force(config: DDPGConfig, remedy: Mapping[str, Any]) -> bool:
    return all(getattr(config, name) == value for name, value in remedy.items())


def _indices(file: Path) -> list[int]:
    return [json.loads(line)["index"] for line in file.read_text().splitlines()]


def _changes(path: Path) -> list[tuple[str, Any, int]]:
    """Every change that stands in the events, in force or not."""
    events = (event for event in RunReader.open(path).events() if event["event"] == "change")
    return [(event["name"], event["after"], event["step"]) for event in events]


def _assert_changes_in_force_are_those_of_the_last_checkpoint(path: Path) -> None:
    store = RunReader.open(path)
    _, state, _ = store.checkpoints.load_latest()
    assert [change.to_json() for change in store.changes()] == state["config"]["changes"]


class Moments:
    """A copy of a run before each file operation that shows: what a kill there would leave."""

    def __init__(self, run: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run, self.folder = run, folder
        self.copies: list[Path] = []
        self._looking = False
        self._last: list[str] = []
        for name in ("rename", "replace", "truncate", "unlink", "rmdir", "mkdir"):
            monkeypatch.setattr(os, name, self._watched(getattr(os, name)))
        monkeypatch.setattr(JsonLines, "append", self._watched(JsonLines.append))
        going_back = Guarding._go_back

        def watched(run: Guarding, action: Intervention) -> None:
            self._looking = True
            going_back(run, action)
            self._looking = False

        monkeypatch.setattr(Guarding, "_go_back", watched)

    def _watched(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def operate(*arguments: Any, **settings: Any) -> Any:
            if self._looking:
                self._looking = False
                self._look()
                self._looking = True
            return operation(*arguments, **settings)

        return operate

    def _look(self) -> None:
        folders = sorted(path.name for path in (self.run / "checkpoints").iterdir())
        useless = (".dropped", ".partial")  # what is on its way in or out shows nowhere
        shown = [name for name in folders if not name.startswith(useless)]
        shown += [f"{path} {path.stat().st_size}" for path in sorted(self.run.glob("*.jsonl"))]
        if shown != self._last:
            copy = self.folder / f"{len(self.copies):02d}"
            shutil.copytree(self.run, copy, ignore=shutil.ignore_patterns("tensorboard"))
            self.copies.append(copy)
        self._last = shown


@pytest.fixture
def went_back(config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path) -> Moments:
    """Sick at Step 6 and only watched, then diverged at Step 8: back to Step 3, past 6 and 7."""

    def interrupt(step: Step) -> None:
        if step.index == 7:
            os.kill(os.getpid(), signal.SIGINT)

    guarded((120, FIRST), diverges_at=160)
    train(config, tmp_path / "run", observers=Observers(step=interrupt))
    with pytest.MonkeyPatch.context() as patch:
        moments = Moments(tmp_path / "run", tmp_path, patch)
        resume(tmp_path / "run", guard="act")
    return moments


def test_a_kill_between_any_two_file_operations_of_going_back_changes_nothing(
    went_back: Moments,
) -> None:
    left = [RunReader.open(copy).checkpoints.steps() for copy in went_back.copies]
    assert left[0] == [0, 3, 6, 7]
    assert left[-1] == [0, 3]
    for copy in went_back.copies:
        resume(copy, guard="act")
        # From Step 3 on the guard may already act at Step 6, and gives that as its reason.
        reason = {"/guard/remedied/learning_rate/1", "/config/changes/0/because"}
        differences = compare_runs(went_back.run, copy).differences
        assert {text.removeprefix("last checkpoint: ") for text in differences} <= reason
        assert _indices(copy / "steps.jsonl") == list(range(1, 10))
        assert _changes(copy) == [("learning_rate", 1e-4, 3)]
        assert [file.name for file in copy.glob("abandoned-*")] == ["abandoned-1.jsonl"]
        assert _indices(copy / "abandoned-1.jsonl") in ([4, 5, 6], [4, 5, 6, 7])
        assert not list((copy / "checkpoints").glob(".*"))


def test_a_return_that_was_not_finished_leaves_nothing_set_aside_if_it_is_not_made_again(
    config: DDPGConfig, went_back: Moments
) -> None:
    half = next(copy for copy in went_back.copies if (copy / "abandoned-1.jsonl").exists())
    with pytest.raises(TrainingDiverged):
        resume(half, guard="watch")
    assert _indices(half / "steps.jsonl") == list(range(1, 8))
    assert not (half / "abandoned-1.jsonl").exists()


def test_a_kill_before_the_guard_has_answered_to_a_finding_does_not_spare_it_the_answer(
    config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path
) -> None:
    guarded((120, FIRST))  # Step 6, where a checkpoint is due
    train(config, tmp_path / "unbroken", guard="act")

    class Killed(BaseException):
        pass

    def die(_: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guarding, "ask_all", die)
        with pytest.raises(Killed):
            train(config, tmp_path / "broken", guard="act")
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
    assert _changes(tmp_path / "broken") == [("learning_rate", 1e-4, 3)]


def test_what_the_guard_and_controllers_change_stands_in_the_events_after_two_returns(
    config: DDPGConfig,
    guarded: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    guarded((100, FIRST), (160, SECOND))

    def control(window: Any, _config: Any) -> Adjustment | None:
        noise = {2: 0.12, 5: 0.15, 7: 0.17, 9: 0.19}.get(window.step.index)
        return Adjustment({"noise_std": noise}, because="asked for") if noise else None

    monkeypatch.setattr(guarding, "CONTROLLERS", (control,))
    train(config, tmp_path / "run", guard="act")
    assert _changes(tmp_path / "run") == [
        ("noise_std", 0.12, 2),
        ("noise_std", 0.15, 5),  # undone by the return to Step 3
        ("learning_rate", 1e-4, 3),
        ("noise_std", 0.15, 5),
        ("noise_std", 0.17, 7),  # undone by the return to Step 6
        ("tau", 0.01, 6),
        ("noise_std", 0.17, 7),
        ("noise_std", 0.19, 9),
    ]
    _assert_changes_in_force_are_those_of_the_last_checkpoint(tmp_path / "run")
    resume(tmp_path / "run", overrides={"total_env_steps": 200})
    assert _changes(tmp_path / "run")[8:] == [("total_env_steps", 200, 9)]
    _assert_changes_in_force_are_those_of_the_last_checkpoint(tmp_path / "run")


def test_an_older_remedy_holds_and_stands_after_a_return_to_before_it(
    config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path
) -> None:
    guarded((80, FIRST), (100, SECOND))
    seen: list[int] = []

    def damage(step: Step) -> None:
        seen.append(step.index)
        if seen[-2:] == [4, 4]:  # the guard has been back at Step 3 and saved its remedy there
            (tmp_path / "run" / "checkpoints" / "step-00000003" / "state.json").write_text("gone")

    train(config, tmp_path / "run", guard="act", observers=Observers(step=damage))
    assert _changes(tmp_path / "run") == [
        ("learning_rate", 1e-4, 3),
        ("learning_rate", 1e-4, 0),
        ("tau", 0.01, 0),
    ]
    _assert_changes_in_force_are_those_of_the_last_checkpoint(tmp_path / "run")


def test_a_longer_budget_outlives_a_return_to_before_it_was_asked_for(
    config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path
) -> None:
    guarded((200, FIRST))
    train(config, tmp_path / "run", guard="act")
    summary = resume(tmp_path / "run", overrides={"total_env_steps": 240})
    assert summary.taken == 240
    assert _changes(tmp_path / "run") == [("total_env_steps", 240, 9), ("learning_rate", 1e-4, 9)]
    _assert_changes_in_force_are_those_of_the_last_checkpoint(tmp_path / "run")


def test_a_fork_begins_with_a_checkpoint_and_resumes_exactly_from_it(
    config: DDPGConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "parent")
    fork(tmp_path / "parent", 3, SECOND, tmp_path / "unbroken")

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 5:  # before the first checkpoint of its own
            raise Killed

    with pytest.raises(Killed):
        fork(tmp_path / "parent", 3, SECOND, tmp_path / "fork", observers=Observers(step=kill))
    assert RunReader.open(tmp_path / "fork").checkpoints.steps() == [3]
    resume(tmp_path / "fork")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "fork").differences == []


def test_the_guard_of_a_fork_can_go_back_to_where_it_began(
    config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path
) -> None:
    train(config, tmp_path / "parent")
    guarded((100, FIRST))
    fork(tmp_path / "parent", 3, {}, tmp_path / "fork", guard="act")
    assert _indices(tmp_path / "fork" / "steps.jsonl") == list(range(1, 10))
    assert _changes(tmp_path / "fork") == [("learning_rate", 1e-4, 3)]


def test_a_fork_of_a_sick_checkpoint_does_not_begin_with_a_good_one(
    config: DDPGConfig, guarded: Callable[..., None], tmp_path: Path
) -> None:
    guarded((100, FIRST))
    train(config, tmp_path / "parent")
    fork(tmp_path / "parent", 6, {}, tmp_path / "fork")
    assert RunReader.open(tmp_path / "fork").checkpoints.steps() == [6, 9]
    assert RunReader.open(tmp_path / "fork").checkpoints.last_good() is None
