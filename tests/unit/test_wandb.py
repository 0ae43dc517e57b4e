"""Weights & Biases, offline: what a run sends, and that it sends nothing unasked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steadyrl.cli.main import main
from steadyrl.integrations.wandb import IDENTITY
from tests.unit.test_ppo_replay import control


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    file = tmp_path / "config.yaml"
    file.write_text(control(replay__enabled=True, total_env_steps=256).to_yaml())
    return file


def test_a_run_can_be_followed_on_weights_and_biases_and_goes_on_there_when_resumed(
    config: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "ppo-cartpole-v1-seed0"
    assert main(["train", str(config), "--log", "wandb", "--quiet"]) == 0
    identity = (run / IDENTITY).read_text()
    (kept,) = run.glob("wandb/offline-run-*/*.wandb")
    assert identity in kept.name
    sent = kept.read_bytes()
    for tag in (b"train/sample_efficiency", b"replay/items", b"train/approx_kl", b"env steps"):
        assert tag in sent
    more = ["--total-env-steps", "384"]
    assert main(["train", "--resume", str(run), "--log", "wandb", "--quiet", *more]) == 0
    assert (run / IDENTITY).read_text() == identity


def test_nothing_is_sent_unasked(config: Path, tmp_path: Path) -> None:
    assert main(["train", str(config), "--quiet"]) == 0
    assert not list(tmp_path.rglob("*.wandb"))


def test_a_missing_package_is_named_with_its_extra(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert main(["train", str(config), "--log", "wandb", "--quiet"]) == 2
    assert "pip install 'steadyrl[wandb]'" in capsys.readouterr().err


def test_a_run_that_cannot_begin_leaves_no_folder(config: Path, tmp_path: Path) -> None:
    asked = ["train", str(config), "--log", "wandb", "--quiet", "--environment.id", "Nowhere-v0"]
    assert main(asked) == 2
    assert not list((tmp_path / "runs").iterdir())
