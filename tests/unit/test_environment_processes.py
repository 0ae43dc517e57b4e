"""Copies of an environment in processes of their own: the same Steps, and a quiet end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import steadyrl
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import EnvironmentConfig, RunConfig
from steadyrl.environments.envs import Envs
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Controls
from steadyrl.run import interrupts


def _config(**changes: Any) -> RunConfig:
    values = {
        "algorithm": "ppo",
        "total_env_steps": 32,
        "rollout_length": 16,
        "minibatch_size": 8,
        "hidden_sizes": [4],
        "epochs": 1,
        "environment": {"id": "CartPole-v1"},
        "evaluation": {"every": 16, "episodes": 1},
    }
    return parse_config(values, overrides=changes)


def test_processes_give_the_same_steps_and_resume_exactly(tmp_path: Path) -> None:
    def at(processes: int, steps: int) -> RunConfig:
        changes = {"environment.count": 2, "environment.processes": processes}
        return _config(**changes, total_env_steps=steps)

    one = steadyrl.train(at(1, 64), tmp_path / "one").path
    two = steadyrl.train(at(2, 64), tmp_path / "two").path
    only = "last checkpoint: /config/now/environment/processes"
    assert compare_runs(one, two).differences == [only]
    cut = steadyrl.train(at(2, 32), tmp_path / "cut").path
    steadyrl.resume(cut, overrides={"total_env_steps": 64})
    signals = [[step["signals"]["policy.loss"] for step in _steps(path)] for path in (two, cut)]
    assert signals[0] == signals[1]


class Noted(gymnasium.Env[Any, Any]):
    """Writes down that it was closed."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, file: str = "") -> None:
        self.file = file

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def close(self) -> None:
        if self.file:
            with Path(self.file).open("a") as notes:
                notes.write(f"{os.getpid()}\n")


def test_processes_close_their_environments_and_end_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "closed.txt"
    config = EnvironmentConfig(
        id=f"{__name__}:Noted", count=2, processes=2, settings={"file": str(file)}
    )
    with interrupts(Controls()):  # as in every training
        envs = Envs(config, seed=0)
        envs.step(np.zeros(2, np.int64))
        envs.close()
    elsewhere = {int(line) for line in file.read_text().split()} - {os.getpid()}
    assert len(elsewhere) == 2
    assert "Traceback" not in capfd.readouterr().err


def _steps(path: Path) -> list[Any]:
    return [json.loads(line) for line in (path / "steps.jsonl").read_text().splitlines()]


def test_processes_are_one_or_as_many_as_copies() -> None:
    with pytest.raises(ConfigError, match=r"so use 1, or environment\.count = 4"):
        _config(**{"environment.count": 4, "environment.processes": 3})
