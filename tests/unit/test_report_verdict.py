"""The first lines of a report say what `diagnose` says: nothing is left out of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steadyrl.judging import judge, open_run
from steadyrl.report.html import write_report
from tests.rules.traces import trace
from tests.unit.pages import page_data, texts
from tests.unit.test_judging import FULL_DISK, acted, change, config_of_run, found, recorded


def shown(run: Path) -> dict[str, Any]:
    """What a report says of a run."""
    page: dict[str, Any] = page_data(write_report([open_run(run)]))["runs"][0]
    return page


def first_lines(run: Path) -> str:
    """What stands above the curves, and the notes about the record."""
    found = shown(run)
    return " ".join([*found["told"], *found["notes"]])


def setting(run: Path, name: str) -> dict[str, Any]:
    return next(one for one in shown(run)["settings"] if one["name"] == name)


def test_what_the_guard_did_stands_in_the_first_lines_and_in_the_settings(tmp_path: Path) -> None:
    events = acted(5, learning_rate=(0.5, 0.001))
    run = recorded(tmp_path / "run", trace(), *events, config=config_of_run(learning_rate=0.5))
    said = first_lines(run)
    assert "Healed by the guard: learning_rate 0.5 → 0.001 at 9,216" in said
    marks = [mark["text"] for mark in shown(run)["marks"] if mark["kind"] == "guard"]
    assert any("the guard went back to env step 500" in text for text in marks)
    assert "R301 against C201 learning-rate-too-high (0.90)" in " ".join(texts(shown(run)))
    rate = setting(run, "learning_rate")
    assert (rate["value"], rate["at_first"]) == ("0.001", "0.5")


def test_settings_that_nobody_changed_are_shown_as_they_are(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(), config=config_of_run(learning_rate=0.5))
    rate = setting(run, "learning_rate")
    assert (rate["value"], rate["at_first"]) == ("0.5", None)


def test_a_longer_budget_stands_in_the_first_lines(tmp_path: Path) -> None:
    longer = change(5, "total_env_steps", config_of_run().total_env_steps, 777_777)
    said = first_lines(recorded(tmp_path / "run", trace(), longer))
    assert "Changed since the start: total_env_steps" in said
    assert "777777" in said


def test_what_the_machine_lacks_is_told_apart_from_a_healthy_run(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", FULL_DISK)
    found = shown(run)
    assert found["headline"] == "healthy"
    assert "D033" not in first_lines(run)
    assert [f["rule"] for f in found["findings"] if f["concerns"] == "machine"] == ["D033"]
    assert found["onset"] is None


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_report_says_how_a_run_ended_and_why(status: str, tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(), status=status, message="the lamp went out")
    assert judge(run).sentence[1:] in first_lines(run)
    assert "the lamp went out" in first_lines(run)


def test_a_report_says_why_it_cannot_tell_and_what_is_damaged(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    file = run / "steps.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[::9]))
    said = first_lines(run)
    assert "Cannot tell: " in said
    assert "missing from steps.jsonl" in said


def test_a_finding_without_a_known_cause_comes_with_what_would_decide(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace(eval__return_mean=-100.0), found("D006", "warning"))
    wanted = judge(run).undecided
    assert wanted
    assert shown(run)["undecided"] == list(wanted)
