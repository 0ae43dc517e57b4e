from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import steadyrl
from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError
from steadyrl.judging import judge
from steadyrl.store.files import JsonLines
from steadyrl.store.reader import RunReader
from tests.unit.pages import page_data, texts


def _watch(path: Path, said: list[str], **about: object) -> steadyrl.Watch:
    return steadyrl.Watch(path, say=said.append, **about)  # type: ignore[arg-type]


def test_three_lines_record_judge_and_report_a_loop(tmp_path: Path) -> None:
    said: list[str] = []
    watch = _watch(tmp_path / "mine", said, family="ppo", settings={"learning_rate": 0.05})
    for n in range(30):
        watch.log(1000 * n, {"policy.kl": 0.01 if n < 10 else 2.0})
    watch.close()
    assert any("D102 policy-jumps" in line for line in said)
    assert any("C241" in line for line in said)
    assert any("learning_rate 0.05 -> 0.001" in line for line in said)
    verdict = judge(tmp_path / "mine")
    assert verdict.headline == "sick"
    assert verdict.diagnoses[0].cause == "C241"
    assert main(["report", str(tmp_path / "mine")]) == 0
    assert "policy-jumps" in texts(page_data(tmp_path / "mine" / "report.html"))


def test_values_may_go_by_another_programs_names(tmp_path: Path) -> None:
    with _watch(tmp_path / "run", [], names="cleanrl", family="ppo") as watch:
        watch.log(128, {"losses/approx_kl": 0.02, "losses/entropy": 0.6, "charts/SPS": 900.0})
    (step,) = RunReader.open(tmp_path / "run").steps()
    assert step.signals["policy.kl"] == 0.02
    assert step.signals["policy.entropy"] == 0.6
    config = RunReader.open(tmp_path / "run").config
    assert config.doubt("policy.kl") is not None


def test_what_is_no_number_and_what_has_no_meaning_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    watch = _watch(tmp_path / "run", said)
    for n in range(3):
        watch.log(n, {"policy.kl": 0.01, "polcy.entropy": 0.5, "value.loss": "high"})
    assert sum("'polcy.entropy' is no signal" in line for line in said) == 1
    assert any("Did you mean 'policy.entropy'" in line for line in said)
    assert sum("'value.loss' is left out" in line for line in said) == 1
    watch.close()


class Loss:
    """As torch makes them, which warns whoever takes one for a number with its graph."""

    def __float__(self) -> float:
        raise UserWarning("may lead to unexpected behavior")

    def detach(self) -> float:
        return 0.25


def test_a_loss_may_be_handed_over_with_its_graph(tmp_path: Path) -> None:
    watch = steadyrl.Watch(tmp_path / "run", say=lambda _: None)
    watch.log(10, {"value.loss": Loss()})
    watch.close()
    assert [s.signals["value.loss"] for s in RunReader.open(tmp_path / "run").steps()] == [0.25]


def test_a_run_that_is_there_already_is_never_touched(tmp_path: Path) -> None:
    first, second = (_watch(tmp_path / "run", []) for _ in range(2))
    assert (first.path.name, second.path.name) == ("run", "run-2")
    first.close()
    second.close()


def test_a_full_disk_is_told_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    watch = _watch(tmp_path / "run", said, family="ppo")

    def full(self: JsonLines, record: object) -> None:
        from steadyrl.core.errors import DiskError

        raise DiskError("cannot write steps.jsonl: No space left on device.")

    monkeypatch.setattr(JsonLines, "append", full)
    found = [finding for n in range(9) for finding in watch.log(n, {"policy.kl": 9.0})]
    watch.close()
    assert sum("No space left" in line for line in said) == 1
    assert [finding.rule for finding in found] == ["D102"]


def test_an_error_in_the_loop_is_recorded_and_not_swallowed(tmp_path: Path) -> None:
    def loop() -> None:
        with _watch(tmp_path / "run", []) as watch:
            watch.log(1, {"policy.kl": 0.01})
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        loop()
    summary = RunReader.open(tmp_path / "run").summary()
    assert summary is not None
    assert (summary["status"], summary["message"]) == ("failed", "division by zero")


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("raise KeyboardInterrupt", "interrupted"),
        ("raise ValueError('too late')", "failed"),
        ("pass", "interrupted"),
        ("watch.close()", "finished"),
    ],
)
def test_a_program_that_ends_without_closing_leaves_a_summary(
    tmp_path: Path, ending: str, status: str
) -> None:
    code = f"""
import steadyrl

def train():
    watch = steadyrl.Watch({str(tmp_path / "run")!r}, family="ppo", total_env_steps=1000)
    watch.log(100, {{"rollout.return_mean": 1.0}})
    {ending}

train()
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    summary = RunReader.open(tmp_path / "run").summary()
    assert summary is not None
    assert (summary["status"], summary["taken"]) == (status, 100)
    if "late" in ending:
        assert "too late" in summary["message"]


def test_returns_of_single_episodes_are_gathered(tmp_path: Path) -> None:
    with _watch(tmp_path / "run", [], names="cleanrl") as watch:
        for n, reward in enumerate([2.0, 4.0, 9.0]):
            watch.log(n, {"charts/episodic_return": reward})
    steps = RunReader.open(tmp_path / "run").steps()
    assert [step.signals["rollout.return_mean"] for step in steps] == [2.0, 3.0, 5.0]


def test_an_error_of_our_own_ends_the_watching_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    watch = _watch(tmp_path / "run", said)

    def fail(*_: object) -> None:
        raise ArithmeticError("a rule of ours")

    monkeypatch.setattr(watch._monitor, "observe", fail)
    for n in range(3):
        assert watch.log(n, {"policy.kl": 0.1}) == []
    watch.close()
    assert sum("a rule of ours" in line for line in said) == 1


def test_the_best_return_may_be_zero(tmp_path: Path) -> None:
    with _watch(tmp_path / "run", []) as watch:
        for n, reward in enumerate([-9.0, 0.0, -6.0]):
            watch.log(n, {"eval.return_mean": reward})
    summary = RunReader.open(tmp_path / "run").summary()
    assert summary is not None
    assert (summary["best_return"], summary["final_return"]) == (0.0, -5.0)  # the mean of three


def test_a_wrong_choice_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="family"):
        _watch(tmp_path / "run", [], family="pppo")
    with pytest.raises(ConfigError, match="on_fault = 'ignore' is not one of: raise, warn, record"):
        steadyrl.CheckedEnv(gymnasium.make("CartPole-v1"), on_fault="ignore")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_only_settings_that_rules_ask_for_are_written_down(tmp_path: Path) -> None:
    settings = {"hub_token": "secret", "learning_rate": "lin_0.01", "gamma": 0.9, "epochs": None}
    with _watch(tmp_path / "run", [], family="ppo", settings=settings):
        pass
    config = RunReader.open(tmp_path / "run").config
    assert config.value_of("learning_rate") == 0.01
    assert config.value_of("gamma") == 0.9
    assert "secret" not in (tmp_path / "run" / "config.yaml").read_text("utf-8")


def test_a_full_disk_is_no_sickness_of_the_training(tmp_path: Path) -> None:
    watch = _watch(tmp_path / "run", [])
    findings = watch.record(1, {"machine.disk_free_gb": 0.01})
    assert [finding.rule for finding in findings] == ["D033"]
    assert not watch.sick
    watch.close()


def test_a_watch_that_was_never_closed_leaves_a_broken_off_record(tmp_path: Path) -> None:
    watch = _watch(tmp_path / "run", [], family="ppo")
    for n in range(1, 21):
        watch.log(100 * n, {"policy.kl": 0.01, "rollout.return_mean": 5.0 * n})
    assert judge(tmp_path / "run").sentence == "healthy so far"
    for file in (tmp_path / "run").iterdir():
        os.utime(file, (0.0, 0.0))
    assert judge(tmp_path / "run").headline == "broken off"
    watch.close()
    assert judge(tmp_path / "run").headline == "healthy"


def test_a_failed_loop_is_not_called_healthy(tmp_path: Path) -> None:
    watch = _watch(tmp_path / "run", [], family="ppo")
    for n in range(1, 21):
        watch.log(100 * n, {"policy.kl": 0.01})
    watch.close("failed", "out of memory")
    assert judge(tmp_path / "run").sentence == "failed: out of memory"


def test_what_no_step_shows_is_known_after_learning_on(tmp_path: Path) -> None:
    watch = _watch(tmp_path / "run", [], family="ppo")
    watch.log(100, {"policy.kl": 0.01})
    watch.not_finite(130, "the reward of environment 0 is nan", "rollout.reward_mean")
    watch.close()
    watch.resume(1000)
    assert watch.sick
    assert watch.not_finite(140, "the reward of environment 0 is nan", "rollout.reward_mean") == []
    watch.close()


def test_a_changed_setting_counts_at_once_and_in_the_record(tmp_path: Path) -> None:
    watch = _watch(tmp_path / "run", [], family="ppo", settings={"learning_rate": 0.05})
    for n in range(1, 31):
        watch.log(1000 * n, {"policy.kl": 0.01 if n < 10 else 2.0})
    watch.changed("learning_rate", 0.05, 0.02, "it jumps")
    live = watch.diagnose()
    watch.close()
    verdict = judge(tmp_path / "run")
    assert verdict.settings_changed == {"learning_rate": (0.05, 0.02)}
    assert verdict.changes["R301"] == "learning_rate 0.02 -> 0.001"
    assert verdict.diagnoses == live


def test_nothing_of_other_programs_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, steadyrl, steadyrl.integrations; steadyrl.Watch\n"
        "from steadyrl.store.foreign import run\n"
        "heavy = ('torch', 'stable_baselines3', 'trl', 'transformers', 'tensorboard', 'pandas')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
