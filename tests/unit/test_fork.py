"""A fork is a controlled experiment: the same state, one thing changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.presets import parse_config
from steadyrl.core.signals import CATALOGUE
from steadyrl.run import fork, train
from steadyrl.store.run_directory import RunDirectory

Make = Callable[..., DDPGConfig]


def _after(path: Path, step: int) -> list[dict[str, float]]:
    """What a run recorded after a Step, without what the machine did and how long it took."""
    return [
        {
            name: value
            for name, value in s.signals.items()
            if CATALOGUE[name].deterministic and not math.isnan(value)
        }
        for s in RunDirectory.open(path).steps()
        if s.index > step
    ]


def test_a_fork_without_changes_repeats_its_parent(small_config: Make, tmp_path: Path) -> None:
    _, parent = train(small_config(checkpoints__keep=9), tmp_path / "parent")
    fork(parent, 6, {}, tmp_path / "fork")
    assert _after(tmp_path / "fork", 6) == _after(parent, 6)


@pytest.mark.parametrize("algorithm", ["ddpg", "ppo", "trpo"])
def test_a_fork_with_another_seed_keeps_the_weights_and_changes_the_randomness(
    algorithm: str, small_config: Make, tmp_path: Path
) -> None:
    config: Any = small_config(checkpoints__keep=9)
    if algorithm != "ddpg":
        values = {"algorithm": algorithm, "total_env_steps": 320, "rollout_length": 64}
        common = {"environment": {"id": "Pendulum-v1"}, "checkpoints": {"every": 64}}
        config = parse_config({**values, **common}, overrides={"checkpoints.keep": 9})
    _, parent = train(config, tmp_path / "parent")
    step = RunDirectory.open(parent).checkpoints.steps()[2]
    fork(parent, step, {"seed": 77}, tmp_path / "one")
    fork(parent, step, {"seed": 77}, tmp_path / "two")
    one = RunDirectory.open(tmp_path / "one")
    assert one.config.seed == 77
    assert _after(tmp_path / "one", step) == _after(tmp_path / "two", step)
    assert _after(tmp_path / "one", step)[0] != _after(parent, step)[0]
