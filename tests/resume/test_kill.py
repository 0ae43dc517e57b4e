"""kill -9 at random moments: whatever is on disk then, resume must reach the same end."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.run import resume, train
from steadyrl.store.checkpoints import has_checkpoint

Make = Callable[..., DDPGConfig]


def _go_on(config: DDPGConfig, path: Path) -> None:
    if has_checkpoint(path):
        resume(path)
    else:
        if path.exists():
            path.rename(path.with_name(f"abandoned-{os.getpid()}"))
        train(config, path)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_twenty_random_kills_leave_the_trajectory_unchanged(
    small_config: Make, tmp_path: Path
) -> None:
    config = small_config(total_env_steps=2000, replay="prioritised", checkpoints__every=60)
    train(config, tmp_path / "unbroken")
    generator = np.random.default_rng(20)
    fork = multiprocessing.get_context("fork")  # children skip the imports: twenty starts are cheap
    kills = 0
    while kills < 20:
        child = fork.Process(target=_go_on, args=(config, tmp_path / "broken"))
        child.start()
        child.join(timeout=float(generator.uniform(0.05, 0.5)))
        if child.exitcode is not None:  # it reached its end: begin a new victim
            assert child.exitcode == 0
            assert compare_runs(tmp_path / "unbroken", tmp_path / "broken").differences == []
            (tmp_path / "broken").rename(tmp_path / f"done-{kills}")
            continue
        child.kill()
        child.join()
        kills += 1
    _go_on(config, tmp_path / "broken")
    verdict = compare_runs(tmp_path / "unbroken", tmp_path / "broken")
    assert verdict.differences == []
    assert verdict.steps == 100


def test_verify_resume_certifies_by_real_processes_and_sigkill(
    small_config: Make, tmp_path: Path
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(small_config().to_yaml())
    command = [sys.executable, "-m", "steadyrl", "verify-resume", str(file), "--json"]
    done = subprocess.run(
        [*command, "--kills", "2", "--length", "3000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["exact"]
    assert len(verdict["killed_at"]) == 2
    assert verdict["steps"] == 40
