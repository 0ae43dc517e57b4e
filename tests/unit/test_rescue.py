"""The decisions of a rescue, and the whole loop on a small patient."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from steadyrl.cli.main import main
from steadyrl.core.configs import load_config
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.experiments.candidates import changes_the_task, improves
from steadyrl.experiments.rescue import rescue
from steadyrl.experiments.trials import Outcome, Trial, read_outcome, run_trial
from steadyrl.store.run_directory import RunDirectory

Make = Callable[..., DDPGConfig]


def _outcome(total: float, length: float, *severe: str, status: str = "finished") -> Outcome:
    return Outcome("x", Path("x"), status, severe, total, length, 100)


def test_a_remedy_must_be_healthy_and_clearly_better_than_the_control() -> None:
    control = _outcome(-100.0, 50.0, "D009")
    assert improves(_outcome(-50.0, 50.0), control, task_changed=False)
    assert not improves(_outcome(-95.0, 50.0), control, task_changed=False)
    assert not improves(_outcome(-50.0, 50.0, "D005"), control, task_changed=False)
    assert not improves(_outcome(-50.0, 50.0, status="failed"), control, task_changed=False)


def test_if_the_task_was_changed_length_and_reward_per_step_decide() -> None:
    control = _outcome(-14_000.0, 11.0, "D010")
    assert improves(_outcome(-4.6e6, 4010.0), control, task_changed=True)
    assert not improves(_outcome(-12_000.0, 10.0), control, task_changed=True)
    assert not improves(_outcome(-9e6, 4010.0), control, task_changed=True)
    assert changes_the_task({"environment.settings.termination_penalty": 75.0})
    assert not changes_the_task({"learning_rate": 1e-4})


def test_nothing_is_better_than_something_that_was_not_measured() -> None:
    nan = float("nan")
    diverged = _outcome(nan, nan, "D001", status="diverged")
    assert improves(_outcome(-50.0, 50.0), diverged, task_changed=False)
    assert not improves(_outcome(-50.0, 50.0), _outcome(nan, nan), task_changed=False)
    assert not improves(_outcome(nan, nan), diverged, task_changed=False)
    assert not improves(_outcome(0.0, 50.0), _outcome(0.0, 50.0), task_changed=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "0"], "nothing is proved"),
        (["--also", "batch_sizes=3"], "Did you mean 'batch_size'"),
    ],
)
def test_a_rescue_that_could_prove_nothing_is_refused_before_it_trains(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert main(["rescue", "ddpg/pendulum", "--output", str(output), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (output / "original").exists()


def test_a_trial_is_not_repeated_and_a_cut_off_one_is_resumed(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config()
    trial = Trial(name="t", config=config, directory=tmp_path / "t")
    run_trial(trial)
    before = (tmp_path / "t" / "steps.jsonl").stat().st_mtime_ns
    run_trial(trial)
    assert (tmp_path / "t" / "steps.jsonl").stat().st_mtime_ns == before
    (tmp_path / "t" / "summary.json").unlink()
    run_trial(trial)
    assert read_outcome("t", tmp_path / "t").status == "finished"
    kinds = [event["event"] for event in RunDirectory.open(tmp_path / "t").events()]
    assert "resumed" in kinds


def test_a_diverged_run_is_an_outcome(small_config: Make, tmp_path: Path) -> None:
    config = small_config(learning_rate=1e30, learning_starts=100)
    run_trial(Trial(name="t", config=config, directory=tmp_path / "t"))
    outcome = read_outcome("t", tmp_path / "t")
    assert (outcome.status, outcome.severe, outcome.healthy) == ("diverged", ("D001",), False)


def test_a_healthy_run_needs_no_rescue(small_config: Make, tmp_path: Path) -> None:
    result = rescue(small_config(), tmp_path / "rescue")
    assert result.status == "healthy"
    assert json.loads((tmp_path / "rescue" / "rescue.json").read_text())["tried"] == []


def test_a_frozen_target_is_rescued_and_the_fix_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pendulum with tau = 0: the cause is named, tau is restored, fresh seeds agree."""
    config = load_config(
        "ddpg/pendulum",
        {
            "tau": 0.0,
            "total_env_steps": 3000,
            "log_every": 50,
            "batch_size": 64,
            "hidden_sizes": [64, 64],
            "learning_starts": 300,
            "learning_rate": 2e-3,
            "evaluation.every_env_steps": 250,
            "evaluation.episodes": 5,
            "checkpoints.every_env_steps": 250,
        },
    )
    file = tmp_path / "sick.yaml"
    file.write_text(config.to_yaml())
    command = ["rescue", str(file), "--output", str(tmp_path / "out"), "--seeds", "1"]
    assert main([*command, "--workers", "1", "--json", "--also", "batch_size=128"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert story["status"] == "verified"
    assert story["diagnoses"][0]["cause"] == "C204"
    assert story["chosen"]["changes"] == {"tau": 0.005}
    origins = {row["origin"]: row["helped"] for row in story["tried"]}
    assert origins["asked for"] is False
    assert "random fix" in origins
    told = [story["control"], *story["tried"], *(row["after"] for row in story["verified"])]
    assert {row["run"] for row in told} <= {path.name for path in (tmp_path / "out").iterdir()}
    rescued = (tmp_path / "out" / "rescued.yaml").read_text()
    assert "#   tau: 0.0 -> 0.005" in rescued
    assert load_config(tmp_path / "out" / "rescued.yaml") == config.replaced({"tau": 0.005})
    assert "Verification" in (tmp_path / "out" / "report.html").read_text()
    # A second start finds everything done.
    assert main([*command, "--workers", "1", "--json", "--also", "batch_size=128"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "verified"


@pytest.mark.slow
def test_the_documented_collapse_is_rescued_and_the_batch_size_was_not_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["rescue", "ddpg/document", "--output", str(tmp_path), "--seeds", "1", "--json"]
    assert main([*command, "--also", "batch_size=1024"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert story["diagnoses"][0]["cause"] == "C208"
    assert "environment.settings.termination_penalty" in story["chosen"]["changes"]
    asked = next(row for row in story["tried"] if row["origin"] == "asked for")
    assert not asked["helped"]
