"""Milestones: when averages are passed, and what the page and the table say."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.store.reader import RunReader
from steadyrl.store.writer import RunWriter
from steadyrl.views.milestones import _smoothed, measure


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Averages of 0, 4, 8, ... per update of 100 samples; the third search fails."""
    config = parse_config(
        {"algorithm": "trpo", "rollout_length": 50, "environment": {"id": "X-v0", "count": 2}}
    )
    store = RunWriter.create(tmp_path / "run", config)
    for i in range(30):
        signals = {
            "rollout.return_mean": 4.0 * i,
            "rollout.reward_mean": 0.1 if i else 0.0,
            "trpo.line_search_success": float(i != 3),
            "trpo.step_fraction": 0.0 if i == 3 else 0.5,
            "policy.kl": math.nan if i == 3 else 0.01,
            "setting.max_kl": 0.02 if i < 10 else 0.016,
            "time.rate": 50.0,
        }
        store.append_step(Step(i + 1, 100 * (i + 1), float(i), signals))
    store.close()
    return tmp_path / "run"


def test_a_milestone_is_the_first_step_whose_average_reaches_it(run: Path) -> None:
    found = measure(RunReader.open(run), [10.0, 50.0, 1000.0])
    assert found.first_score == 200
    assert found.passed[10.0] == 400  # 4 x 3 = 12 at the fourth update
    assert found.passed[50.0] == 1400
    assert math.isnan(found.passed[1000.0])
    assert (found.best, found.last) == (116.0, 116.0)
    assert found.samples_per_update == 100
    assert found.search_success == pytest.approx(29 / 30)
    assert found.max_kl == 0.016


def test_the_table_says_what_was_not_reached_and_the_page_has_the_curves(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["milestones", str(run), "--levels", "10", "1000"]) == 0
    text = capsys.readouterr().out
    assert "not reached" in text
    assert "1,400" not in text
    page = (run / "milestones.html").read_text()
    assert "Trust region" in page
    assert "Line search" in page
    assert "Score of evaluations" not in page  # none were made


def test_as_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["milestones", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["runs"][0]
    assert told["passed"] == {"10.0": 400.0, "50.0": 1400.0, "100.0": 2600.0}


def test_runs_that_share_a_folder_name_are_told_apart(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(run, tmp_path / "other" / "run")
    assert main(["milestones", str(run), str(other), "--json"]) == 0
    names = [told["run"] for told in json.loads(capsys.readouterr().out)["runs"]]
    assert names == [f"{tmp_path.name}/run", "other/run"]


def test_levels_must_rise(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["milestones", str(run), "--levels", "50", "10"]) == 2
    assert "rising order" in capsys.readouterr().err


def test_a_mean_over_updates_passes_over_what_is_not_a_number() -> None:
    values = np.array([1.0, math.nan, 3.0, 5.0])
    np.testing.assert_allclose(_smoothed(values, 2), [1.0, 1.0, 3.0, 4.0])
    np.testing.assert_allclose(_smoothed(np.array([math.nan, 2.0]), 2), [math.nan, 2.0])
