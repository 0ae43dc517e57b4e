"""An algorithm that is added by one folder and one line of the registry gets everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.registry import ALGORITHMS, Algorithm
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.compare import compare
from steadyrl.experiments.preflight import preflight
from steadyrl.experiments.rescue import rescue
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.judging import judge, judged
from steadyrl.run import Observers, resume, train
from steadyrl.stability.check import check_config
from steadyrl.stability.detectors import DEFAULT
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.reader import RunReader
from tests.unit.pages import page_data

PLACES = 8


class Buttons(gymnasium.Env[Any, Any]):
    """In each of eight places one of four buttons pays; an episode visits all of them."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (PLACES,), dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(4)
        self._place = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action == self._place % 4)
        self._place += 1
        return self._seen(), reward, self._place == PLACES, False, {}

    def _seen(self) -> Any:
        return np.eye(PLACES, dtype=np.float32)[self._place % PLACES]


gymnasium.register("test/Buttons-v0", entry_point=lambda **_: Buttons())


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Algorithm(
        "tests.toy.reinforce.config:ReinforceConfig", "tests.toy.reinforce.reinforce:prepare"
    )
    monkeypatch.setitem(ALGORITHMS, "reinforce", line)


def _config(**settings: Any) -> RunConfig:
    values = {
        "algorithm": "reinforce",
        "environment": {"id": "test/Buttons-v0"},
        "total_env_steps": 2000,
        "learning_rate": 0.05,
        "evaluation": {"every": 200, "episodes": 2},
        "checkpoints": {"every": 400},
    }
    return parse_config(values, overrides=settings)


def _file(tmp_path: Path, **settings: Any) -> str:
    file = tmp_path / "my.yaml"
    file.write_text(_config(**settings).to_yaml())
    return str(file)


def test_it_learns_and_is_watched(tmp_path: Path) -> None:
    summary, path = train(_config(), tmp_path / "run")
    # 8 of 8 buttons; a policy that has learned nothing gets two.
    assert summary.final_return is not None
    assert summary.final_return > 6
    assert judge(path).headline == "healthy"


def test_it_goes_on_exactly_where_it_stopped(tmp_path: Path) -> None:
    train(_config(), tmp_path / "unbroken")

    def stop(step: Step) -> None:
        if step.index == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(_config(), tmp_path / "broken", observers=Observers(step=stop))
    resume(tmp_path / "broken")
    assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []


def test_it_is_asked_by_every_rule_whose_traits_it_has_and_by_no_other() -> None:
    asked = {rule.id for rule in Monitor(_config()).detectors}
    assert asked == {rule.id for rule in DEFAULT if set(rule.traits) <= {"acts"}}
    assert "D002" in asked
    assert len(asked) < len(DEFAULT)


def test_its_settings_are_checked_and_its_environment_is_tried() -> None:
    assert [concern.rule for concern in check_config(_config(learning_rate=0.5))] == ["S005"]
    # Its episodes do end after eight steps, all of them: that is told, and nothing else.
    (concern,) = preflight(_config())
    assert "all terminated after 8 steps. If that is a time limit" in concern.message
    assert concern.severity == "warning"


def test_only_remedies_that_it_has_settings_for_are_proposed(tmp_path: Path) -> None:
    train(_config(learning_rate=1.0, gamma=0.5), tmp_path / "run")
    run = judged(tmp_path / "run")
    proposed = {
        name: changes
        for remedy in REMEDIES.values()
        if (changes := remedy.proposal(run.config, run.window))
        for name in [remedy.name]
    }
    assert set(proposed) == {"lower-learning-rate", "usual-discount", "middle-discount"}


def test_frozen_weights_are_found_and_a_change_is_proved_by_rescue(tmp_path: Path) -> None:
    result = rescue(
        _config(learning_rate=0.0), tmp_path / "out", seeds=3, also=[{"learning_rate": 0.05}]
    )
    assert [finding.rule for finding in result.findings][:1] == ["D002"]
    assert result.status == "verified", result.message
    assert "3 of 3 fresh seeds" in result.message


def test_two_of_its_configs_are_compared(tmp_path: Path) -> None:
    configs = {"frozen": _config(learning_rate=0.0), "learning": _config()}
    found = compare(configs, tmp_path / "out", seeds=6)
    assert found.contrasts[0].clear
    assert found.contrasts[0].difference.value > 3


def test_commands_know_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _file(tmp_path)
    assert main(["check", file]) == 0
    assert main(["train", file, "--runs", str(tmp_path), "--name", "run", "--quiet"]) == 0
    assert "env steps" in capsys.readouterr().out
    assert main(["diagnose", str(tmp_path / "run")]) == 0
    assert "healthy" in capsys.readouterr().out
    assert main(["noise", str(tmp_path / "run"), "--batch-sizes", "16,64", "--draws", "20"]) == 0
    assert "policy" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "policy.entropy" in page_data(tmp_path / "run" / "report.html")["runs"][0]["curves"]
    assert main(["schema", "reinforce"]) == 0
    assert "episodes_per_update" in capsys.readouterr().out


def test_a_run_of_it_is_recorded_like_any_other(tmp_path: Path) -> None:
    _, path = train(_config(total_env_steps=500), tmp_path / "run")
    store = RunReader.open(path)
    assert store.config == _config(total_env_steps=500)
    recorded = {name for step in store.steps() for name in step.signals}
    assert {"policy.entropy", "policy.update_ratio", "eval.return_mean", "time.rate"} <= recorded
