from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steadyrl.judging import judge
from steadyrl.store.reader import RunReader

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here_or_beside_the_tests_of_its_library() -> None:
    tested = {"train_ddpg.py", "watch_sb3_ppo.py", "watch_own_loop.py", "watch_trl_grpo.py"}
    assert {file.name for file in EXAMPLES.glob("*.py")} == tested


def test_train_ddpg(tmp_path: Path) -> None:
    printed = run_example("train_ddpg.py", tmp_path, "run", "1100")
    assert "1,000 env steps  return" in printed
    assert "finished: largest |Q| over its bound was 0." in printed


def test_watch_sb3_ppo_stops_and_names_the_learning_rate(tmp_path: Path) -> None:
    # Its rate is a thousand times too high: on each of five seeds, with and without vector
    # instructions, it was stopped within 5,121 of 20,000 steps, and this cause was the first.
    printed = run_example("watch_sb3_ppo.py", tmp_path, "20000")
    assert "policy-learning-rate-too-high" in printed
    assert judge(tmp_path / "runs" / "sb3-ppo").headline == "sick"


def test_watch_own_loop(tmp_path: Path) -> None:
    run_example("watch_own_loop.py", tmp_path, "20")
    steps = list(RunReader.open(tmp_path / "runs" / "own-loop").steps())
    assert len(steps) == 20
    assert {"policy.loss", "policy.entropy"} <= steps[-1].signals.keys()


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("watch_*.py")))
def test_examples_stay_short(name: str) -> None:
    code = (EXAMPLES / name).read_text("utf-8").splitlines()
    assert sum(bool(line.strip()) for line in code) <= 55
