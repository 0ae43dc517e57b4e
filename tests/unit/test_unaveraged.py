"""Episodes' own returns from the running mean that programs log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadyrl.judging import diagnose
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.foreign.series import Floats, Series
from steadyrl.store.foreign.unaveraged import unaveraged

SPAN = 100
IMPOSSIBLE = [[0.0, 1.0, 2.0], [1.0, 3.0, 2.0], [1.0, np.nan, 2.0], [101.0] * 3]
HEAD = "time/total_timesteps,time/episodes,rollout/ep_rew_mean,train/actor_loss,train/critic_loss"


def series(values: Floats, steps: Floats) -> Series:
    return Series(
        steps.astype(np.int64), np.zeros(len(values)), values, np.arange(len(values), dtype=float)
    )


def logged(returns: Floats, every: int) -> tuple[Series, Series]:
    """What a program logs every so many episodes: the running mean, and their number."""
    rows = np.arange(every, len(returns) + 1, every, dtype=np.int64)
    means = np.array([returns[max(0, row - SPAN) : row].mean() for row in rows])
    steps = np.asarray(200 * rows, dtype=np.float64)
    return series(means, steps), series(rows.astype(np.float64), steps)


@pytest.mark.parametrize("every", [1, 2, 4, 25])
def test_what_was_averaged_comes_back_exactly(every: int) -> None:
    returns = np.random.default_rng(0).normal(-1000.0, 200.0, 400)
    means, counts = logged(returns, every)
    found = unaveraged(means, counts, SPAN)
    assert found is not None
    assert found.values == pytest.approx(returns.reshape(-1, every).mean(axis=1))
    assert (found.steps == means.steps).all()


def test_rows_that_leave_the_mean_in_parts_tell_nothing() -> None:
    means, counts = logged(np.arange(400.0), 3)
    assert unaveraged(means, counts, SPAN) is None
    assert unaveraged(*logged(np.arange(99.0), 3), SPAN) is not None  # nothing has left it yet


def test_rows_without_a_new_episode_are_left_out() -> None:
    means = series(np.array([1.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    found = unaveraged(means, series(np.array([1.0, 1.0, 2.0]), means.steps.astype(float)), SPAN)
    assert found is not None
    assert found.values.tolist() == [1.0, 3.0]
    assert found.steps.tolist() == [10, 30]


@pytest.mark.parametrize("counts", IMPOSSIBLE)
def test_counts_that_cannot_be_are_not_believed(counts: list[float]) -> None:
    means = series(np.array([1.0, 1.5, 2.0]), np.array([10.0, 20.0, 30.0]))
    assert unaveraged(means, series(np.array(counts), means.steps.astype(float)), SPAN) is None


def test_a_mean_that_counts_elsewhere_is_left_alone() -> None:
    means = series(np.array([1.0, 1.5]), np.array([10.0, 20.0]))
    assert unaveraged(means, series(np.array([1.0, 2.0]), np.array([15.0, 25.0])), SPAN) is None


def write_log(folder: Path, returns: Floats) -> Path:
    means, counts = logged(returns, 1)
    lines = [HEAD]
    for step, count, mean in zip(means.steps, counts.values, means.values, strict=True):
        lines.append(f"{step},{count:.0f},{float(mean)!r},{10.0 + count % 3},1.0")
    folder.mkdir(exist_ok=True)
    (folder / "progress.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_log_of_stable_baselines3_has_its_episodes_back(tmp_path: Path) -> None:
    returns = np.random.default_rng(1).normal(-1200.0, 200.0, 30)
    found = ForeignRun(write_log(tmp_path / "run", returns)).series()["rollout.episode_return"]
    assert found.values == pytest.approx(returns)


def test_twenty_episodes_are_enough_to_see_that_nothing_was_learned(tmp_path: Path) -> None:
    noise = np.random.default_rng(2).normal(0.0, 200.0, 20)
    flat = diagnose(write_log(tmp_path / "flat", -1200.0 + noise))
    assert [finding.rule for finding in flat.present] == ["D011"]
    learned = diagnose(write_log(tmp_path / "learned", -1200.0 + noise + 100.0 * np.arange(20)))
    assert learned.headline == "healthy"
