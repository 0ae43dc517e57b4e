from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from steadyrl.integrations.trl import SteadyCallback
from steadyrl.judging import judge
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import watch_trl_grpo
from watch_trl_grpo import count_a, save_tiny_model

pytestmark = pytest.mark.filterwarnings("ignore")  # of other people's libraries


def constant(completions: list[str], **_: Any) -> list[float]:
    return [0.0] * len(completions)


def trained(
    folder: Path, reward: Callable[..., list[float]], steps: int, callback: SteadyCallback
) -> Any:
    torch.set_num_threads(1)
    save_tiny_model(str(folder / "model"))
    trainer = GRPOTrainer(
        model=str(folder / "model"),
        reward_funcs=reward,
        train_dataset=Dataset.from_dict({"prompt": ["abc", "def"] * 16}),
        args=GRPOConfig(
            str(folder / "out"),
            max_steps=steps,
            per_device_train_batch_size=8,
            max_completion_length=4,
            learning_rate=1e-3,
            beta=0.01,
            logging_steps=1,
            save_steps=4,
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
        ),
        callbacks=[callback],
    )
    trainer.train()
    return trainer


def test_a_grpo_run_is_recorded_step_by_step(tmp_path: Path) -> None:
    callback = SteadyCallback(tmp_path / "run", say=lambda _: None)
    trainer = trained(tmp_path, count_a, 6, callback)
    steps = list(RunReader.open(tmp_path / "run").steps())
    assert [step.taken for step in steps] == [1, 2, 3, 4, 5, 6]
    logged = [row for row in trainer.state.log_history if "reward" in row]
    assert [step.signals["rollout.return_mean"] for step in steps] == [r["reward"] for r in logged]
    wanted = {"language.reference_kl", "policy.entropy", "policy.gradient_norm"}
    assert wanted <= steps[-1].signals.keys()
    assert callback.last_good == tmp_path / "out" / "checkpoint-6"
    # The trainer's own state tells the same afterwards, without the callback.
    state = ForeignRun(tmp_path / "out" / "checkpoint-6")
    assert [s.signals["rollout.return_mean"] for s in state.steps()] == [
        s.signals["rollout.return_mean"] for s in steps
    ]


def test_the_example_records_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["watch_trl_grpo.py", "4"])
    # Here and not in a process of its own, which would import these libraries once more.
    runpy.run_path(watch_trl_grpo.__file__, run_name="__main__")
    steps = list(RunReader.open(tmp_path / "runs" / "trl-grpo").steps())
    assert len(steps) == 4
    assert "language.reward_std" in steps[-1].signals


def test_a_reward_that_tells_nothing_apart_stops_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    callback = SteadyCallback(tmp_path / "run", on_severe="stop", say=said.append)
    trainer = trained(tmp_path, constant, 40, callback)
    assert trainer.state.global_step == 5
    verdict = judge(tmp_path / "run")
    assert [finding.rule for finding in verdict.findings] == ["D140"]
    assert verdict.diagnoses[0].cause == "C270"
    assert any("checkpoint-4" in line for line in said)


def test_the_learning_rate_is_lowered_for_good(tmp_path: Path) -> None:
    callback = SteadyCallback(tmp_path / "run", on_severe="lower_learning_rate", say=lambda _: None)
    trainer = trained(tmp_path, constant, 9, callback)
    rates = [row["learning_rate"] for row in trainer.state.log_history if "reward" in row]
    usual = [1e-3 * (1 - n / 9) for n in range(9)]
    assert rates[:5] == pytest.approx(usual[:5])
    assert rates[6:] == pytest.approx([rate / 3 for rate in usual[6:]])
