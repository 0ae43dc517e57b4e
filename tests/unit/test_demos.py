"""`steadyrl demos`: flaws that were put in are found, good data is left in peace, and verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.environments.demonstrated import scripted_demonstrations
from steadyrl.experience.demonstration_files import write_npz
from steadyrl.experience.demonstrations import Demonstrations, made
from steadyrl.experiments.demo_inspect import inspect
from steadyrl.experiments.reenactment import _distance, _late, _mean, judge


@pytest.fixture(scope="module")
def good() -> Demonstrations:
    return scripted_demonstrations(3, 418, 1)


def _with(data: Demonstrations, **arrays: Any) -> Demonstrations:
    observations = arrays.get("observations", data.observations)
    actions = arrays.get("actions", data.actions)
    return made(observations, actions, data.starts.tolist(), "test")


def test_good_data_has_no_flaw(good: Demonstrations) -> None:
    found = inspect(good, batch_size=128)
    assert found.concerns == ["observation components [12] never change"]  # the table is flat
    assert found.lengths == [418] * 3
    assert "125 to 251" in found.batch_advice


def test_few_transitions_large_batches_and_single_trajectories_are_told() -> None:
    found = inspect(scripted_demonstrations(1, 418, 0), batch_size=256)
    text = " ".join(found.concerns)
    assert "418 transitions are few" in text
    assert "61% of the data" in text
    assert "one trajectory" in text


def test_flaws_that_were_put_in_are_found(good: Demonstrations) -> None:
    actions = good.actions.copy()
    actions[100:180] = 0.0
    assert inspect(_with(good, actions=actions)).zero_actions == 80

    actions = good.actions.copy()
    actions[:, 4] = 0.3
    assert inspect(_with(good, actions=actions)).dead_actions == [4]

    observations = good.observations.copy()
    observations[200:230] = observations[199]
    actions = good.actions.copy()
    actions[200:230] = actions[199]
    assert inspect(_with(good, observations=observations, actions=actions)).duplicates == 30

    actions = good.actions.copy()
    actions[77, 0] = 40.0
    assert inspect(_with(good, actions=actions)).outliers == [77]


def test_dropped_frames_are_found(good: Demonstrations) -> None:
    rows = np.r_[0:60, 160 : len(good)]
    cut = made(good.observations[rows], good.actions[rows], [0, 318, 736], "test")
    assert inspect(cut).gaps == [59]


def test_contradictions_are_found(good: Demonstrations) -> None:
    doubled = np.concatenate((good.observations, good.observations))
    opposite = np.concatenate((good.actions, -good.actions))
    data = made(doubled, opposite, [0, len(good)], "test")
    found = inspect(data)
    assert found.conflict_share > 0.2
    assert any("something that decides is not observed" in text for text in found.concerns)


def test_row_numbers_are_the_files_after_filtering() -> None:
    actions = np.tile(np.linspace(0.1, 1.0, 100), 2)[:, None]
    actions[:10] = 0.0
    actions[150] = 500.0
    observations = np.arange(200.0)[:, None]
    data = made(observations, actions, [0], "test").without_zero_actions()
    assert inspect(data).outliers == [150]


@pytest.mark.parametrize(
    ("prediction", "recorded", "clone", "verdict"),
    [
        (0.01, 0.0, 0.1, "reproduced"),
        (0.01, 0.0, 1.5, "covariate shift"),
        (0.6, 0.0, 1.5, "not learned"),
        (0.01, 0.8, 1.5, "bad data"),
    ],
)
def test_the_verdict_follows_from_the_three_errors(
    prediction: float, recorded: float, clone: float, verdict: str
) -> None:
    again, alone = np.linspace(0, recorded, 50), np.linspace(0, clone, 50)
    found, because = judge(np.full(50, prediction), again, alone, late=(recorded, clone))
    assert found == verdict
    assert because


def test_without_known_starts_only_the_predictions_are_judged() -> None:
    assert judge(np.full(9, 0.01), np.zeros(0), np.zeros(0), late=(0, 0))[0] == "not tried"
    assert judge(np.full(9, 0.9), np.zeros(0), np.zeros(0), late=(0, 0))[0] == "not learned"


def test_the_commands_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demos", "make", "demo.npz", "--trajectories", "2", "--length", "80"]) == 0
    assert "160 transitions" in capsys.readouterr().out
    assert main(["demos", "inspect", "demo.npz", "--batch-size", "128"]) == 0
    text = capsys.readouterr().out
    assert "are few" in text
    assert "look at this" in (tmp_path / "demo-inspection.html").read_text()
    flags = ["--total-gradient-steps", "300", "--demonstrations.expert-length", "80", "--std-floor"]
    assert (
        main(["train", "bc/single-trajectory", "--runs", ".", "--name", "r", *flags, "0.05"]) == 0
    )
    capsys.readouterr()
    assert main(["demos", "replay", "r", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Played again from the same start, the recorded actions meet the recorded states.
    assert max(found["recorded"]) < 1e-5
    assert found["verdict"] in ("covariate shift", "reproduced", "not learned")
    assert len(found["clone"]) == 80


def test_a_clone_that_ends_early_has_left_the_recording() -> None:
    recorded = np.zeros((100, 2))
    early = _distance(np.zeros((6, 2)), recorded, np.ones(2))
    long = _distance(np.zeros((100, 2)), recorded, np.ones(2))
    assert np.isinf(early[6:]).all()
    assert _late([early]) == np.inf
    assert _late([long]) == 0.0
    assert len(_mean([early, long])) == 100


def test_a_file_of_the_experts_is_replayed_from_given_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["demos", "make", "demo.npz", "--trajectories", "2", "--length", "60"])
    flags = ["--total-gradient-steps", "600", "--demonstrations.path", "demo.npz", "--quiet"]
    assert main(["train", "bc/single-trajectory", "--runs", ".", "--name", "r", *flags]) == 0
    capsys.readouterr()
    assert main(["demos", "replay", "r", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recorded"] == []  # where they began is not known
    assert main(["demos", "replay", "r", "--seeds", "0", "1", "--json"]) == 0
    assert max(json.loads(capsys.readouterr().out)["recorded"]) < 1e-5


def test_a_run_of_another_trainer_has_nothing_to_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--runs", str(tmp_path), "--name", "r", "--total-env-steps", "200"]
    assert main(["train", "ddpg/pendulum", *flags, "--quiet"]) == 0
    assert main(["demos", "replay", str(tmp_path / "r")]) == 2
    assert "no demonstrations to replay" in capsys.readouterr().err


def test_actions_recorded_late_are_bad_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = scripted_demonstrations(1, 200, 0)
    write_npz(_with(data, actions=np.roll(data.actions, 40, axis=0)), tmp_path / "late.npz")
    flags = ["--total-gradient-steps", "200", "--demonstrations.path", "late.npz", "--quiet"]
    assert main(["train", "bc/single-trajectory", "--runs", ".", "--name", "r", *flags]) == 0
    capsys.readouterr()
    assert main(["demos", "replay", "r", "--seeds", "0"]) == 0
    assert capsys.readouterr().out.startswith("bad data")


def _made(observations: Any, actions: Any) -> Demonstrations:
    return made(observations, actions, [0, len(actions) // 2], "mine")


def test_a_deterministic_expert_is_not_accused_but_a_hidden_cause_is() -> None:
    generator = np.random.default_rng(0)
    seen = np.cumsum(generator.normal(size=(1500, 3)), axis=0) % 4.0
    bang_bang = np.sign(seen[:, :1] - 2.0)
    hidden = np.sign(generator.normal(size=(1500, 1)))
    assert not any("not observed" in c for c in inspect(_made(seen, bang_bang)).concerns)
    assert any("not observed" in c for c in inspect(_made(seen, hidden)).concerns)


def test_integer_actions_are_told_to_be_choices() -> None:
    generator = np.random.default_rng(0)
    seen = generator.normal(size=(200, 3))
    found = inspect(_made(seen, (seen[:, :1] > 0).astype(int)))
    assert found.whole_actions == "0, 1"
    assert any("whole numbers (0, 1)" in concern for concern in found.concerns)
    assert not inspect(_made(seen, seen[:, :1])).whole_actions
