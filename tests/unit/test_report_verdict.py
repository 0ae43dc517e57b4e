"""The first lines of a report say what `diagnose` says: nothing is left out of the page."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from steadyrl.judging import judge, open_run
from steadyrl.report.html import write_report
from tests.rules.traces import trace
from tests.unit.test_judging import FULL_DISK, acted, change, config_of_run, found, recorded


def first_lines(*runs: Path) -> str:
    """What a report says before it shows the facts and curves of its runs."""
    page = write_report([open_run(run) for run in runs]).read_text("utf-8")
    return unescape(page.partition("<body>")[2].partition("<h2>Runs</h2>")[0])


def settings_shown(run: Path) -> str:
    page = write_report([open_run(run)]).read_text("utf-8")
    return unescape(page.rpartition("<summary>settings of")[2])


def test_what_the_guard_did_stands_in_the_first_lines_and_in_the_settings(tmp_path: Path) -> None:
    events = acted(5, learning_rate=(0.5, 0.001))
    run = recorded(tmp_path / "run", trace(), *events, config=config_of_run(learning_rate=0.5))
    said = first_lines(run)
    assert "healed by the guard: learning_rate 0.5 -> 0.001 at 9,216" in said
    assert "the guard went back to env step 500" in said
    assert "R301 against C201 learning-rate-too-high (0.90)" in said
    assert "<th>learning_rate</th><td>0.001 (0.5 at first)</td>" in settings_shown(run)


def test_settings_that_nobody_changed_are_shown_as_they_are(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(), config=config_of_run(learning_rate=0.5))
    assert "<th>learning_rate</th><td>0.5</td>" in settings_shown(run)


def test_a_longer_budget_stands_in_the_first_lines(tmp_path: Path) -> None:
    longer = change(5, "total_env_steps", config_of_run().total_env_steps, 777_777)
    said = first_lines(recorded(tmp_path / "run", trace(), longer))
    assert "changed since the start: total_env_steps" in said
    assert "777777" in said


def test_what_the_machine_lacks_is_told_apart_from_a_healthy_run(tmp_path: Path) -> None:
    said = first_lines(recorded(tmp_path / "run", FULL_DISK))
    before, _, after = said.partition("The machine, not the training")
    assert "run: healthy" in before
    assert "D033" not in before
    assert "D033" in after


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_report_says_how_a_run_ended_and_why(status: str, tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(), status=status, message="the lamp went out")
    assert f"run: {judge(run).sentence}" in first_lines(run)
    assert "the lamp went out" in first_lines(run)


def test_a_report_says_why_it_cannot_tell_and_what_is_damaged(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    file = run / "steps.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[::9]))
    said = first_lines(run)
    assert "cannot tell: " in said
    assert "missing from steps.jsonl" in said


def test_a_finding_without_a_known_cause_comes_with_what_would_decide(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(), found("D006", "warning"))
    wanted = judge(run).undecided
    assert wanted
    said = first_lines(run)
    assert all(text in said for text in wanted)
