from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.judging import open_run
from steadyrl.report.blocks import curve as block_curve
from steadyrl.report.html import write_report
from steadyrl.run import train
from tests.unit.pages import page_data

Make = Callable[..., DDPGConfig]


def test_the_page_is_self_contained_and_shows_every_run(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "first")
    train(small_config(seed=1), tmp_path / "<b>second")
    runs = [open_run(tmp_path / "first"), open_run(tmp_path / "<b>second")]
    page = write_report(runs, tmp_path / "both.html")
    text = page.read_text()
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    assert "<b>second" not in text
    found = page_data(page)["runs"]
    assert [run["name"] for run in found] == ["first", "<b>second"]
    for run in found:
        assert len(run["curves"]) > 20
        assert run["curves"]["critic.loss"]["x"]
        assert "Evaluation is on" in [line[2] for line in run["checklist"]]


def test_a_page_lets_nothing_run_but_its_own_script(small_config: Make, tmp_path: Path) -> None:
    train(small_config(), tmp_path / "run")
    text = write_report([open_run(tmp_path / "run")]).read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    said = unescape(policy[1])
    assert "default-src 'none'" in said
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        held = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        assert len(held) == 1
        digest = base64.b64encode(hashlib.sha256(held[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in said


def test_the_terminal_curve_rises_with_the_values() -> None:
    drawn = block_curve([0.0, 1.0, 2.0, 3.0], left="0", right="end").splitlines()
    assert drawn[0].endswith("█") or drawn[0].endswith("▇")
    assert drawn[0].strip().startswith("3")
    assert drawn[-2].strip().startswith("0")
    assert drawn[0].count(" ") > drawn[-2].count(" ")
