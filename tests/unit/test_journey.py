"""From an environment of one's own to a model elsewhere, by commands alone."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import numpy as np
import onnxruntime
import pytest

import steadyrl
from steadyrl.cli.main import main
from tests.wheel.run import CONFIG, ENVIRONMENT


def test_the_whole_way_from_an_own_environment_to_onnx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_env.py").write_text(ENVIRONMENT)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    try:
        for command in (
            "train mine.yaml --name mine --total-env-steps 1024 --evaluation.every 512 --quiet",
            "diagnose runs/mine",
            "evaluate runs/mine --episodes 10",
            "play runs/mine --video mine.gif --most-steps 10",
            "export runs/mine --format onnx",
        ):
            assert main(command.split()) == 0, capsys.readouterr().err
    finally:
        sys.modules.pop("my_env", None)
        gymnasium.registry.pop("Balance-v0", None)
    assert "return" in capsys.readouterr().out
    assert (tmp_path / "mine.gif").stat().st_size > 1000
    rows = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(tmp_path / "runs" / "mine" / "onnx" / "model.onnx")
    found = session.run(None, {"observations": rows})[0]
    expected = steadyrl.load_policy(tmp_path / "runs" / "mine").act(rows)
    np.testing.assert_allclose(found, expected, atol=1e-5)
