"""What the run loop does when something severe is found."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.errors import TrainingDiverged
from steadyrl.core.machine import MachineMeter
from steadyrl.core.records import Finding, Intervention
from steadyrl.experiments.trials import read_outcome
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge, judged
from steadyrl.run import GuardMode, Observers, fork, resume, train
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]


def _events(path: Path, kind: str) -> list[dict[str, Any]]:
    return [event for event in RunReader.open(path).events() if event["event"] == kind]


def _diverging(small_config: Make, **overrides: Any) -> DDPGConfig:
    values: dict[str, Any] = {"checkpoints__keep_best": False, **overrides}
    return small_config(learning_rate=1e30, learning_starts=100, **values)


def test_acting_goes_back_to_the_last_good_checkpoint_and_lowers_the_learning_rate(
    small_config: Make, tmp_path: Path
) -> None:
    told: list[Intervention] = []
    summary, path = train(
        _diverging(small_config),
        tmp_path / "run",
        guard="act",
        observers=Observers(action=told.append),
    )
    assert summary.status == "finished"
    (action,) = _events(path, "action")
    assert (action["remedy"], action["step"]) == ("R301", 3)
    assert told == [Intervention.from_json(action)]
    assert (told[0].taken, told[0].told) == (60, "learning_rate 1e+30 -> 0.001 at 100")
    assert judge(path).interventions == told
    assert RunReader.open(path).config_in_force().value_of("learning_rate") == 1e-3
    (change,) = _events(path, "change")
    assert (change["name"], change["after"]) == ("learning_rate", 1e-3)
    assert "C201 learning-rate-too-high" in change["because"]
    steps = list(RunReader.open(path).steps())
    assert [step.index for step in steps] == list(range(1, 16))
    assert all(math.isfinite(value) for step in steps for value in step.signals.values())
    abandoned = (path / "abandoned-1.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in abandoned] == [4, 5]


def test_a_run_that_was_acted_on_resumes_exactly(small_config: Make, tmp_path: Path) -> None:
    config = _diverging(small_config)
    train(config, tmp_path / "unbroken", guard="act")

    class Killed(BaseException):
        pass

    def kill(step: Any) -> None:
        if step.index == 11:
            raise Killed

    with pytest.raises(Killed):
        train(config, tmp_path / "broken", guard="act", observers=Observers(step=kill))
    resume(tmp_path / "broken", guard="act")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
    kinds = [_events(tmp_path / name, "action") for name in ("unbroken", "broken")]
    assert kinds[0] == kinds[1]


def test_watching_reports_but_changes_nothing(small_config: Make, tmp_path: Path) -> None:
    seen: list[Finding] = []
    config = small_config(tau=0.0)
    train(config, tmp_path / "watched", observers=Observers(finding=seen.append))
    train(config, tmp_path / "alone", guard="off")
    assert "D012" in {finding.rule for finding in seen}
    assert {event["rule"] for event in _events(tmp_path / "watched", "finding")} >= {"D012"}
    assert _events(tmp_path / "alone", "finding") == []
    assert compare_runs(tmp_path / "watched", tmp_path / "alone").differences == []
    (diagnosis, *_) = _events(tmp_path / "watched", "diagnosis")
    assert diagnosis["cause"] == "C204"


def test_stopping_ends_at_the_first_severe_finding_with_probes(
    small_config: Make, tmp_path: Path
) -> None:
    summary, path = train(small_config(tau=0.0), tmp_path / "run", guard="stop")
    assert summary.status == "stopped"
    assert "D012 target-frozen" in summary.message
    assert {event["probe"] for event in _events(path, "probe")} >= {"Q501", "Q503", "Q504", "Q505"}


def test_without_an_automatic_remedy_acting_stops_with_a_verdict(
    small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddpg, "follow", lambda *_: None)
    summary, path = train(small_config(), tmp_path / "run", guard="act")
    assert summary.status == "stopped"
    assert "No automatic remedy" in summary.message
    assert _events(path, "action") == []


@pytest.mark.parametrize("guard", ["act", "stop"])
def test_the_guard_leaves_a_run_alone_whose_disk_is_full(
    guard: GuardMode, small_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MachineMeter, "read", lambda _meter: {"machine.disk_free_gb": 0.01})
    config = small_config(total_env_steps=120, noise_std=3.0, learning_starts=20)
    summary, path = train(config, tmp_path / "run", guard=guard)
    assert summary.status == "finished"
    assert "D033" in {event["rule"] for event in _events(path, "finding")}
    assert [_events(path, kind) for kind in ("action", "change", "probe")] == [[], [], []]
    store = RunReader.open(path)
    assert store.checkpoints.last_good() == store.checkpoints.steps()[-1] == 6
    assert read_outcome("x", path).healthy


def test_an_intervention_is_printed_as_it_happens(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "diverging.yaml"
    file.write_text(_diverging(small_config).to_yaml())
    command = ["train", str(file), "--runs", str(tmp_path), "--name", "run", "--guard", "act"]
    assert main(command) == 0
    printed = capsys.readouterr()
    finding, intervention = (
        next(line for line in printed.err.splitlines() if text in line)
        for text in ("D001 non-finite-signal", "the guard went back to env step 60")
    )
    assert "learning_rate 1e+30 -> 0.001 at 100" in intervention
    assert printed.err.index(finding) < printed.err.index(intervention)
    assert "C201 learning-rate-too-high" in intervention
    verdict = next(line for line in printed.out.splitlines() if line.startswith("verdict"))
    assert "learning_rate 1e+30 -> 0.001" in verdict


def test_causes_are_weighed_with_the_settings_in_force(small_config: Make, tmp_path: Path) -> None:
    """What a run says of itself when it ends is what is said of its record."""
    _, path = train(small_config(tau=0.0), tmp_path / "run")
    resume(path, overrides={"total_env_steps": 400})
    said = [event["cause"] for event in _events(path, "diagnosis")]
    recorded = judged(path)
    assert recorded.window.progress == 1.0
    assert said == [diagnosis.cause for diagnosis in recorded.verdict.diagnoses]


def test_the_black_box_holds_the_batch_the_steps_and_a_replay_that_finds_it_again(
    small_config: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    with pytest.raises(TrainingDiverged):
        train(_diverging(small_config), path)
    assert [finding.rule for finding in judge(path).findings] == ["D001"]
    assert judge(path).diagnoses[0].cause == "C201"
    about = json.loads((path / "blackbox" / "about.json").read_text())
    assert about["first_bad_tensor"]
    assert about["replay"] == f"steadyrl replay {path}"
    with np.load(path / "blackbox" / "minibatch.npz") as box:
        assert {name: list(part.shape) for name, part in box.items()} == about["minibatch"]
    assert about["minibatch"] == {
        "observation": [16, 3],
        "action": [16, 1],
        "next_observation": [16, 3],
        "reward": [16],
        "terminated": [16],
    }
    lines = (path / "blackbox" / "steps.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in lines] == [1, 2, 3, 4, 5]
    assert main(["replay", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["first_bad_tensor"] == about["first_bad_tensor"]
    assert 100 < found["taken"] < 120


def test_a_fork_without_changes_repeats_its_parent_and_with_one_does_not(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(checkpoints__keep=9)
    train(config, tmp_path / "parent")
    parent = list(RunReader.open(tmp_path / "parent").steps())

    def losses(path: Path) -> dict[int, Any]:
        return {s.index: s.signals.get("critic.loss") for s in RunReader.open(path).steps()}

    fork(tmp_path / "parent", 6, {}, tmp_path / "same")
    fork(tmp_path / "parent", 6, {"learning_rate": 1e-4}, tmp_path / "other")
    expected = {s.index: s.signals.get("critic.loss") for s in parent}
    assert losses(tmp_path / "same") == expected
    other = losses(tmp_path / "other")
    assert other.keys() == expected.keys()
    assert {i for i, loss in other.items() if loss == expected[i]} == set(range(1, 7))


def test_what_a_fork_achieved_is_what_came_after_the_fork(
    small_config: Make, tmp_path: Path
) -> None:
    train(small_config(checkpoints__keep=9), tmp_path / "parent")
    fork(tmp_path / "parent", 9, {}, tmp_path / "fork")
    steps = list(RunReader.open(tmp_path / "fork").steps())
    own = [s.signals for s in steps if s.index > 9 and "eval.return_mean" in s.signals]
    assert 0 < len(own) < sum("eval.return_mean" in s.signals for s in steps)
    found = read_outcome("x", tmp_path / "fork").final_return
    assert found == pytest.approx(np.mean([signals["eval.return_mean"] for signals in own]))


def test_a_fork_may_shrink_the_buffer(small_config: Make, tmp_path: Path) -> None:
    train(small_config(checkpoints__keep=9), tmp_path / "parent")
    fork(tmp_path / "parent", 6, {"buffer_size": 50}, tmp_path / "small")
    last = list(RunReader.open(tmp_path / "small").steps())[-1]
    assert last.signals["replay.size"] == 50
