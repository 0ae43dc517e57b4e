"""The bench of other people's runs tells what it leaves out."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("installed", [True, False])
def test_tasks_without_their_package_are_left_out_aloud(
    installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench = importlib.import_module("foreign_faults")
    monkeypatch.setattr(bench, "find_spec", lambda name: object() if installed else None)
    found = bench.tasks_there()
    told = capsys.readouterr().err
    assert "ppo-cartpole" in found
    assert ("tqc-pendulum" in found) is installed
    assert ("left out: " in told) is not installed
    assert ("tqc-pendulum" in told) is not installed
