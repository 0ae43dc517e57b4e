from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.judging import open_run
from steadyrl.report.html import POINTS, thin, write_report
from steadyrl.report.terminal import curve
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
    assert text.count('"name": "first"') > 20


def test_thinning_keeps_both_ends_and_every_spike() -> None:
    y = np.zeros(50_000)
    y[31_234], y[777] = 1e6, -1e6
    x, kept = thin(np.column_stack([np.arange(50_000), y]))
    assert len(kept) <= POINTS + 2
    assert (kept.max(), kept.min()) == (1e6, -1e6)
    assert (x[0], x[-1]) == (0, 49_999)
    assert (np.diff(x) > 0).all()


def test_the_terminal_curve_rises_with_the_values() -> None:
    drawn = curve([0.0, 1.0, 2.0, 3.0], left="0", right="end").splitlines()
    assert drawn[0].endswith("█") or drawn[0].endswith("▇")
    assert drawn[0].strip().startswith("3")
    assert drawn[-2].strip().startswith("0")
    assert drawn[0].count(" ") > drawn[-2].count(" ")
