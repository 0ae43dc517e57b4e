from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.judging import open_run
from steadyrl.report.curves import POINTS, curve, thin
from steadyrl.report.html import write_report
from steadyrl.report.terminal import curve as block_curve
from steadyrl.run import train

Make = Callable[..., DDPGConfig]


def test_the_page_is_self_contained_and_shows_every_run(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "first")
    train(small_config(seed=1), tmp_path / "<b>second")
    runs = [open_run(tmp_path / "first"), open_run(tmp_path / "<b>second")]
    page = write_report(runs, tmp_path / "both.html")
    text = page.read_text()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "<b>second" not in text
    assert "critic.loss" in text
    assert text.count("<td>Evaluation is on</td>") == 2  # of each run's checklist
    assert text.count('"name": "first"') > 20


def test_thinning_keeps_both_ends_and_every_spike() -> None:
    y = np.zeros(50_000)
    y[31_234], y[777] = 1e6, -1e6
    x, kept = thin(np.column_stack([np.arange(50_000), y]))
    assert len(kept) <= POINTS + 2
    assert (kept.max(), kept.min()) == (1e6, -1e6)
    assert (x[0], x[-1]) == (0, 49_999)
    assert (np.diff(x) > 0).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_thinning_keeps_a_lone_value_that_is_no_number_and_its_neighbours(odd: float) -> None:
    y = np.zeros(50_000)
    y[20_000:20_005] = 5.0, -3.0, odd, 4.0, -2.0
    x, kept = thin(np.column_stack([np.arange(50_000), y]))
    assert x[~np.isfinite(kept)].tolist() == [20_002]
    assert {5.0, -3.0} <= set(kept)


def test_thinning_bounds_a_curve_without_any_number() -> None:
    x, kept = thin(np.column_stack([np.arange(50_000), np.full(50_000, np.nan)]))
    assert len(kept) <= POINTS + 2
    assert (x[0], x[-1]) == (0, 49_999)


def test_what_is_no_number_is_marked_at_the_edge_of_its_curve() -> None:
    y = [1.0, np.nan, 3.0, np.inf, -np.inf, 2.0]
    line, marks = curve("run", np.column_stack([np.arange(6.0), y]), "#000000")
    assert line["y"] == [1.0, None, 3.0, None, None, 2.0]
    assert marks["mode"] == "markers"
    assert list(zip(marks["x"], marks["y"], marks["text"], strict=True)) == [
        (1.0, 1.0, "NaN"),
        (3.0, 3.0, "inf"),
        (4.0, 1.0, "-inf"),
    ]


def test_a_curve_without_any_number_is_still_marked() -> None:
    _, marks = curve("run", np.array([[0.0, np.nan], [1.0, np.inf]]), "#000000")
    assert marks["y"] == [0.0, 0.0]


def test_a_curve_of_numbers_has_no_marks() -> None:
    assert len(curve("run", np.array([[0.0, 1.0], [1.0, 2.0]]), "#000000")) == 1


def test_the_terminal_curve_rises_with_the_values() -> None:
    drawn = block_curve([0.0, 1.0, 2.0, 3.0], left="0", right="end").splitlines()
    assert drawn[0].endswith("█") or drawn[0].endswith("▇")
    assert drawn[0].strip().startswith("3")
    assert drawn[-2].strip().startswith("0")
    assert drawn[0].count(" ") > drawn[-2].count(" ")
