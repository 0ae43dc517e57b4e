"""A run that goes on is judged from what is new, and as if it had been read from its beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steadyrl.core.records import Step
from steadyrl.judging import judge
from steadyrl.live_judge import LiveJudge
from steadyrl.stability.monitor import Monitor
from steadyrl.store.reader import RunReader
from tests.unit.test_judging import SICK, acted, change, found, recorded


def _append(file: Path, *records: object) -> None:
    with file.open("a") as opened:
        opened.writelines(json.dumps(record) + "\n" for record in records)


def _judged_alike(live: LiveJudge, path: Path) -> None:
    now = live.judged()
    assert now is not None
    assert now.verdict.to_json() == judge(path).to_json()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The Steps that monitors have looked at."""
    indices: list[int] = []
    observe = Monitor.observe

    def counted(self: Monitor, step: Step) -> object:
        indices.append(step.index)
        return observe(self, step)

    monkeypatch.setattr(Monitor, "observe", counted)
    return indices


def test_each_look_reads_what_is_new_and_says_what_a_whole_reading_says(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", SICK[:20], status=None)
    live = LiveJudge(RunReader.open(path))
    _judged_alike(live, path)
    for step in SICK[20:]:
        _append(path / "steps.jsonl", step.to_json())
        _judged_alike(live, path)
    assert judge(path).headline == "sick"
    assert live.judged() is None


def test_only_new_steps_are_looked_at(tmp_path: Path, seen: list[int]) -> None:
    path = recorded(tmp_path / "run", SICK[:30], status=None)
    live = LiveJudge(RunReader.open(path))
    live.judged()
    assert len(seen) == 30
    _append(path / "steps.jsonl", *(step.to_json() for step in SICK[30:33]))
    live.judged()
    assert seen[30:] == [31, 32, 33]
    live.judged()
    assert len(seen) == 33


def test_a_finding_that_is_told_before_its_step_is_read_is_told_once(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", SICK[:10], found("D005"), status=None)
    live = LiveJudge(RunReader.open(path))
    live.judged()
    _append(path / "steps.jsonl", *(step.to_json() for step in SICK[10:]))
    now = live.judged()
    assert now is not None
    assert [finding.rule for finding in now.verdict.findings].count("D005") == 1


def test_after_the_guard_went_back_the_past_is_another(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", SICK, status=None)
    live = LiveJudge(RunReader.open(path))
    live.judged()
    kept = [json.dumps(step.to_json()) + "\n" for step in SICK[:12]]
    (path / "steps.jsonl").write_text("".join(kept))
    _append(path / "events.jsonl", *acted(12, learning_rate=(0.1, 0.001)))
    _judged_alike(live, path)
    assert judge(path).interventions


def test_a_run_that_is_made_longer_is_judged_by_its_new_end(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", SICK, status=None)
    live = LiveJudge(RunReader.open(path))
    live.judged()
    _append(path / "events.jsonl", change(60, "total_env_steps", 6000, 60_000))
    _judged_alike(live, path)


def test_the_end_of_a_run_is_news(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", SICK, status=None)
    live = LiveJudge(RunReader.open(path))
    live.judged()
    (path / "summary.json").write_text('{"status": "finished", "steps": 60}')
    _judged_alike(live, path)
