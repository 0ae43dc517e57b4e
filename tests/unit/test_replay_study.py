"""Study C7: how its curves are compared, and how it decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadyrl.experiments.studies import STUDIES
from steadyrl.experiments.studies.c7_replay import (
    AXES,
    OFF,
    RIVALS,
    STANDARD,
    TASKS,
    Curve,
    decide,
    read_curve,
)
from steadyrl.maths.statistics import Estimate
from steadyrl.run import train
from tests.unit.test_ppo_replay import control


def curve(scores: list[float], reached: list[float]) -> Curve:
    return Curve(np.array(scores), {axis: np.array(reached) for axis in AXES}, 1.0)


def test_a_mean_until_a_limit_is_the_area_under_the_curve_up_to_there() -> None:
    rising = curve([0.0, 10.0, 20.0], [100.0, 200.0, 300.0])
    assert rising.mean_until("samples", 300.0) == pytest.approx(10.0)
    assert rising.mean_until("samples", 200.0) == pytest.approx(5.0)
    assert rising.mean_until("samples", 250.0) == pytest.approx(7.5)
    assert rising.mean_until("samples", 100.0) == 0.0


def answered(better: bool, *, except_for: tuple[str, str, str] | None = None) -> str:
    """The verdict if every comparison goes one way but for one that goes the other."""
    found, other = Estimate(30.0, 20.0, 40.0), Estimate(-30.0, -40.0, -20.0)
    gaps = {
        (task, arm, rival): (found if better else other)
        for task in TASKS
        for arm in RIVALS
        for rival in (OFF, RIVALS[arm])
    }
    if except_for is not None:
        gaps[except_for] = other if better else found
    return decide(gaps)[0]


def test_replay_must_beat_both_rivals_on_both_tasks() -> None:
    one = (TASKS[0], STANDARD, RIVALS[STANDARD])
    assert answered(better=True) == "confirmed"
    assert answered(better=False) == "refuted"
    assert answered(better=True, except_for=one) == "depends on"


def test_what_a_run_has_reached_is_counted_on_every_axis(tmp_path: Path) -> None:
    config = control(replay__enabled=True, evaluation__episodes=1, evaluation__every=128, epochs=2)
    train(config, tmp_path / "run")
    found = read_curve(tmp_path / "run")
    assert found.reached["samples"].tolist() == [128, 256, 384, 512, 640]
    assert len(found.scores) == 5
    assert found.use > 2.0
    assert found.reached["gradient samples"][-1] == pytest.approx(640 * found.use)
    assert (np.diff(found.reached["seconds"]) > 0).all()


def test_the_study_is_listed() -> None:
    assert "C7" in STUDIES
