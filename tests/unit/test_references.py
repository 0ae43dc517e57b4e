"""How far a run came, by what others have reached."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadyrl.judging import judge
from steadyrl.stability.references import RANDOM, reference
from steadyrl.store.foreign.run import ForeignRun
from tests.unit.test_beside import monitor, ordered


def test_the_way_is_from_a_random_policy_to_what_the_same_algorithm_reaches() -> None:
    found = reference("CartPole-v1", "ppo", first=99.0, last=261.35)
    assert found is not None
    assert (found.random, found.reached, found.measured) == (RANDOM["CartPole-v1"], 500.0, True)
    assert found.share == pytest.approx(0.5, abs=0.01)
    assert "50% of the way from a random policy" in found.sentence
    assert "ppo" in found.sentence
    assert "SB3 zoo" in found.sentence


def test_where_random_was_not_measured_the_first_episodes_stand_in() -> None:
    found = reference("Ant-v4", "sac", first=-50.0, last=2000.0)
    assert found is not None
    assert not found.measured
    assert not found.at_random
    assert "its own first episodes (-50)" in found.sentence
    assert "in Ant-v3" in found.sentence


def test_of_an_unknown_environment_or_an_impossible_way_nothing_is_said() -> None:
    assert reference("MyTask-v0", "ppo", 0.0, 1.0) is None
    assert reference("unknown", "ppo", 0.0, 1.0) is None
    assert reference("Ant-v3", "sac", first=9e9, last=1.0) is None
    assert reference("Ant-v3", "sac", first=0.0, last=float("nan")) is None


def pendulum(folder: Path, start: float, end: float) -> Path:
    noise = 20.0 * np.random.default_rng(0).standard_normal(200)
    monitor(folder / "monitor.csv", (np.linspace(start, end, 200) + noise).tolist(), length=200)
    (folder / "args.yml").write_text(ordered(algo="td3", env="Pendulum-v1"))
    return folder


def test_a_run_that_rose_to_a_random_policys_level_is_not_healthy(tmp_path: Path) -> None:
    verdict = judge(ForeignRun(pendulum(tmp_path / "bad", -1490.0, -1230.0)))
    assert verdict.standing.learned == "yes"
    assert verdict.headline == "suspicious"
    (finding,) = [finding for finding in verdict.present if finding.rule == "D011"]
    assert "ends near a random policy's" in finding.message
    good = judge(ForeignRun(pendulum(tmp_path / "good", -1490.0, -160.0)))
    assert good.headline == "healthy"
    assert "of the way from a random policy (-1,256)" in good.to_json()["reference"]
