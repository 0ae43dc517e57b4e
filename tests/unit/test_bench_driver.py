"""`make bench`: one table of all benches, and a mark on what got worse."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "all.py"


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("all_benches", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["all_benches"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


RECORD = {
    "benchmark": "speed_x",
    "batch": {
        "64": {"ours": {"steps_per_second": 9.0}, "sbx": {"ratio": 1.4, "ratio_range": [1.2, 1.6]}}
    },
    "ppo CartPole-v1": {"difference": 3.0, "interval": [-1.0, 7.0], "scores": {"ours": [1.0]}},
    "diagnose": {"seconds": 1.2},
    "watching": {"cost": 0.05, "cost_range": [0.04, 0.06]},
    "machine": {"cores": 2},
}


def test_ratios_differences_times_and_costs_are_found_wherever_they_are(driver: ModuleType) -> None:
    found = {figure.name: figure for figure in driver.figures(RECORD)}
    assert list(found) == [
        "speed_x batch 64 sbx: ratio",
        "speed_x ppo CartPole-v1: difference",
        "speed_x diagnose: seconds",
        "speed_x watching: cost",
    ]
    ratio, difference, seconds, cost = found.values()
    assert (ratio.value, ratio.low, ratio.high) == (1.4, 1.2, 1.6)
    assert (cost.value, cost.low, cost.high) == (0.05, 0.04, 0.06)
    assert ratio.more_is_better
    assert difference.more_is_better
    assert not seconds.more_is_better
    assert not cost.more_is_better


@pytest.mark.parametrize(
    ("now", "kept", "worse"),
    [
        ((1.3, 1.2, 1.6), (1.4, 1.2, 1.6), False),
        ((1.19, 1.1, 1.6), (1.4, 1.2, 1.6), True),
        ((1.27, None, None), (1.4, None, None), False),
        ((1.25, None, None), (1.4, None, None), True),
        ((9.0, None, None), (1.4, None, None), False),
    ],
)
def test_a_ratio_got_worse_if_it_left_the_kept_range(
    driver: ModuleType, now: tuple[float, ...], kept: tuple[float, ...], worse: bool
) -> None:
    assert driver.Figure("a", *now).got_worse(driver.Figure("a", *kept)) is worse


def test_a_time_got_worse_if_it_is_longer(driver: ModuleType) -> None:
    kept = driver.Figure("a", 1.0, more_is_better=False)
    assert driver.Figure("a", 1.2, more_is_better=False).got_worse(kept)
    assert not driver.Figure("a", 1.05, more_is_better=False).got_worse(kept)
    assert not driver.Figure("a", 0.5, more_is_better=False).got_worse(kept)


def test_the_table_marks_what_got_worse_and_shows_what_is_new(driver: ModuleType) -> None:
    slow, new = driver.Figure("slow", 1.0, 0.9, 1.1), driver.Figure("new", 2.0)
    lines = list(driver.table([(slow, driver.Figure("slow", 2.0, 1.8, 2.2)), (new, None)]))
    assert lines[1].endswith("WORSE")
    assert lines[2].endswith("-")
    assert lines[-1] == "2 figures, 1 got worse"


def test_what_is_kept_is_read_by_name(driver: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(RECORD))
    (tmp_path / "study.json").write_text(json.dumps({"study": "C1", "ratio": 3.0}))
    kept = driver.kept_figures(driver.committed(tmp_path))
    assert list(kept) == [f.name for f in driver.figures(RECORD)]


def test_figures_are_compared_with_what_is_committed(driver: ModuleType, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    (tmp_path / "a.json").write_text('{"n": 1}')
    git("init")
    git("add", "a.json")
    git("commit", "-m", "m")
    (tmp_path / "a.json").write_text('{"n": 2}')
    (tmp_path / "new.json").write_text('{"n": 3}')
    assert driver.committed(tmp_path) == [{"n": 1}, {"n": 3}]


def test_a_bench_that_fails_is_told_and_does_not_hide_the_others(
    driver: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {"speed_ddpg.py": None, "cloning.py": RECORD}
    monkeypatch.setattr(driver, "BENCHES", [(name, ()) for name in answers])
    monkeypatch.setattr(driver, "measured", lambda script, flags, quick: answers[script])
    monkeypatch.setattr(sys, "argv", ["all.py", "--quick"])
    with pytest.raises(SystemExit) as ended:
        driver.main()
    told = capsys.readouterr().out
    assert ended.value.code == 1
    assert "FAILED  speed_ddpg.py" in told
    assert "speed_x batch 64 sbx: ratio" in told


def _driven(
    driver: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, *flags: str
) -> list[str]:
    """Which benches were run, of two; the second is stopped unless all are to be skipped."""
    ran: list[str] = []

    def measured(script: str, flags: tuple[str, ...], quick: bool) -> dict[str, Any]:
        ran.append(script)
        if script == "two.py" and not stopped:
            stopped.append(script)
            raise KeyboardInterrupt
        record: dict[str, Any] = {**RECORD, "benchmark": script[:-3]}
        (folder / f"{script[:-3]}.json").write_text(json.dumps(record))
        return record

    stopped: list[str] = [] if "--resume" not in flags else ["two.py"]
    monkeypatch.setattr(driver, "RESULTS", folder)
    monkeypatch.setattr(driver, "BENCHES", [("one.py", ()), ("two.py", ())])
    monkeypatch.setattr(driver, "measured", measured)
    monkeypatch.setattr(sys, "argv", ["all.py", *flags])
    with pytest.raises(SystemExit):
        driver.main()
    return ran


def test_what_was_measured_before_a_stop_is_not_measured_again(
    driver: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _driven(driver, monkeypatch, tmp_path) == ["one.py", "two.py"]
    assert "all.py --resume goes on from here" in capsys.readouterr().err
    assert _driven(driver, monkeypatch, tmp_path, "--resume") == ["two.py"]
    told = capsys.readouterr()
    assert "one batch 64 sbx: ratio" in told.out
    assert "two batch 64 sbx: ratio" in told.out
    assert _driven(driver, monkeypatch, tmp_path, "--resume") == []
    monkeypatch.setattr(driver, "commit", lambda: "another")
    assert _driven(driver, monkeypatch, tmp_path, "--resume") == ["one.py", "two.py"]
    assert "1 of 2  one.py  (about 0 minutes left)" in capsys.readouterr().err


def test_every_bench_is_there(driver: ModuleType) -> None:
    for script, _ in driver.BENCHES:
        assert (FILE.parent / script).is_file(), script


def test_every_bench_takes_what_the_driver_passes(driver: ModuleType) -> None:
    for script, _ in driver.BENCHES:
        text = (FILE.parent / script).read_text(encoding="utf-8")
        assert '"--json"' in text, script
        assert '"--quick"' in text, script
