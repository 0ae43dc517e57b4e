"""Series of a log: running means, restarts, and how many moments become Steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from steadyrl.core.records import Step
from steadyrl.store.foreign.series import (
    NOTHING,
    Series,
    running_mean,
    to_steps,
    unlooped,
    without_restarts,
)


def series(
    steps: Sequence[int],
    values: Sequence[float] | None = None,
    times: Sequence[float] | None = None,
    begin: int = 0,
) -> Series:
    """Recorded one after the other; unless said otherwise a second per value, valued by step."""
    order = np.arange(begin, begin + len(steps), dtype=np.float64)
    return Series(
        np.array(steps, dtype=np.int64),
        order if times is None else np.array(times, dtype=np.float64),
        np.array(steps if values is None else values, dtype=np.float64),
        order,
    )


@pytest.mark.parametrize(
    ("count", "means"),
    [
        (1, [8.0, 2.0, 5.0, 1.0]),
        (2, [8.0, 5.0, 3.5, 3.0]),
        (3, [8.0, 5.0, 5.0, 8 / 3]),
        (4, [8.0, 5.0, 5.0, 4.0]),
        (9, [8.0, 5.0, 5.0, 4.0]),
    ],
)
def test_a_running_mean_is_that_of_the_newest_values(count: int, means: list[float]) -> None:
    found = running_mean(series([1, 2, 3, 4], [8.0, 2.0, 5.0, 1.0]), count)
    assert found.values.tolist() == pytest.approx(means)


def test_a_running_mean_leaves_out_what_is_no_number_with_its_moment() -> None:
    found = running_mean(series([1, 2, 3, 4], [2.0, math.nan, math.inf, 4.0]), 2)
    assert found.values.tolist() == [2.0, 3.0]
    assert found.steps.tolist() == [1, 4]
    assert found.times.tolist() == [0.0, 3.0]
    assert len(running_mean(series([1], [math.nan]), 5)) == 0


def test_parts_are_joined_in_their_order_and_taken_apart_by_moment() -> None:
    parts = [series([5, 6], times=[1.0, 2.0]), series([1], times=[9.0], begin=2)]
    joined = Series.joined(parts)
    assert joined.steps.tolist() == [5, 6, 1]
    assert joined.times.tolist() == [1.0, 2.0, 9.0]
    assert joined.values.tolist() == [5.0, 6.0, 1.0]
    assert joined.order.tolist() == [0.0, 1.0, 2.0]
    assert Series.joined(parts[:1]) is parts[0]
    some = joined.take(np.array([True, False, True]))
    columns = [some.steps, some.times, some.values, some.order]
    assert [column.tolist() for column in columns] == [[5, 1], [1, 9], [5, 1], [0, 2]]
    assert joined.times_factor(-2.0).values.tolist() == [-10.0, -12.0, -2.0]


def settled(*steps: int, **more: Series) -> tuple[dict[str, Series], int]:
    return without_restarts({"x": series(steps), **more})


def test_a_log_that_only_rises_was_never_restarted() -> None:
    found, replaced = settled(1, 2, 3, 3, 4)
    assert (list(found), replaced) == (["x"], 0)
    assert found["x"].steps.tolist() == [1, 2, 3, 3, 4]
    assert without_restarts({}) == ({}, 0)
    assert without_restarts({"x": NOTHING})[1] == 0


def test_what_was_recorded_from_the_restart_on_is_replaced_and_nothing_before_it() -> None:
    found, replaced = settled(10, 20, 30, 40, 20, 30, 50)
    assert found["x"].order.tolist() == [0.0, 4.0, 5.0, 6.0]  # 10, then 20, 30, 50 of the second
    assert replaced == 3
    assert found["run.restarted"].steps.tolist() == [20]
    assert found["run.restarted"].values.tolist() == [1.0]
    assert found["run.restarted"].order.tolist() == [4.0]


def test_a_restart_is_one_of_all_series_but_not_of_what_came_after_it() -> None:
    other = Series(
        np.array([15, 20, 35, 25]), np.zeros(4), np.arange(4.0), np.array([0.5, 1.5, 2.5, 4.5])
    )
    found, replaced = settled(10, 20, 30, 40, 20, 30, 50, y=other)
    assert found["y"].values.tolist() == [0.0, 3.0]
    assert replaced == 5


def test_a_restart_right_before_the_end_counts_once_another_value_confirms_it() -> None:
    assert "run.restarted" not in settled(10, 20, 30, 40, 20)[0]
    assert settled(10, 20, 30, 40, 20)[0]["x"].steps.tolist() == [10, 20, 20, 30, 40]
    assert "run.restarted" in settled(10, 20, 30, 40, 20, 30)[0]


def test_a_single_late_value_is_no_restart() -> None:
    found, replaced = settled(10, 30, 20, 30, 40)
    assert replaced == 0
    assert found["x"].steps.tolist() == [10, 20, 30, 30, 40]
    assert "run.restarted" not in found


def test_steps_that_repeat_are_no_steps_back() -> None:
    found, _ = settled(*[step for step in (10, 20, 30, 40, 20, 30, 50) for _ in range(2)])
    assert found["run.restarted"].steps.tolist() == [20]


def test_several_restarts_are_all_found() -> None:
    found, _ = settled(1, 2, 3, 4, 2, 3, 4, 5, 1, 2, 3)
    assert found["x"].order.tolist() == [8.0, 9.0, 10.0]
    assert found["run.restarted"].steps.tolist() == [1, 2]


@pytest.mark.parametrize(("backward", "restarts"), [(3, 3), (4, 0)])
def test_a_log_that_goes_back_all_the_time_has_several_writers(
    backward: int, restarts: int
) -> None:
    steps = [at for n in range(backward + 1) for at in (10 * n, 10 * n + 1, 10 * n + 12)]
    found, _ = without_restarts({"x": series([*steps, 10 * backward + 13])})
    assert len(found.get("run.restarted", NOTHING)) == restarts


def test_a_long_log_may_go_back_in_a_tenth_of_its_steps() -> None:
    def log(backward: int) -> list[int]:
        turns = [at for n in range(backward) for at in (20 * n, 20 * n + 1, 20 * n + 22)]
        rise = range(20 * backward, 20 * backward + 60 - len(turns))
        return [*turns, *rise]

    assert len(log(6)) == len(log(7)) == 60
    assert "run.restarted" in settled(*log(6))[0]
    assert "run.restarted" not in settled(*log(7))[0]


@pytest.mark.parametrize(
    ("usual", "pause", "found"),
    [(1.0, 60.0, []), (1.0, 60.5, [5]), (10.0, 300.0, []), (10.0, 301.0, [5])],
)
def test_a_silence_is_long_by_the_clock_and_by_the_logs_own_pace(
    usual: float, pause: float, found: list[int]
) -> None:
    times = [usual * n + (pause - usual) * (n >= 5) for n in range(10)]
    result, replaced = without_restarts({"x": series(range(10), times=times)})
    begun = result.get("run.restarted", NOTHING)
    assert begun.steps.tolist() == found
    assert begun.times.tolist() == [times[5]] * len(found)
    assert replaced == 0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_clock_that_says_nonsense_is_no_silence(wrong: float) -> None:
    found, _ = without_restarts({"x": series(range(4), times=[0.0, wrong, 2.0, 3.0])})
    assert "run.restarted" not in found


def test_the_longest_series_tells_the_silences() -> None:
    short = series([1, 9], times=[0.0, 5000.0])
    found, _ = without_restarts({"short": short, "long": series(range(10))})
    assert "run.restarted" not in found


def steps_of(thin: int = 1000, **signals: Series) -> list[Step]:
    return to_steps({name.replace("__", "."): s for name, s in signals.items()}, thin=thin)


def test_updates_become_steps_and_what_lies_between_is_reduced_as_declared() -> None:
    steps = steps_of(
        policy__kl=series([10, 20], [0.1, 0.3], times=[100.0, 107.0]),
        rollout__return_mean=series([5, 9, 10, 15], [1.0, 2.0, 6.0, 8.0]),
        rollout__reward_mean=series([5, 9, 10, 15], [1.0, 2.0, 6.0, 8.0]),
        rollout__reward_abs_max=series([5, 9, 10, 15], [7.0, 2.0, 6.0, 8.0]),
        rollout__undeclared=series([5, 9, 10, 15], [1.0, 2.0, 6.0, 8.0]),
        eval__return_mean=NOTHING,
    )
    assert [(s.index, s.taken) for s in steps] == [(1, 10), (2, 20)]
    expected = {"return_mean": 6.0, "reward_mean": 3.0, "reward_abs_max": 7.0, "undeclared": 3.0}
    for name, value in expected.items():
        assert [s.signals[f"rollout.{name}"] for s in steps] == [value, 8.0]
    assert [s.signals["policy.kl"] for s in steps] == [0.1, 0.3]


def test_what_comes_after_the_last_update_is_a_step_of_its_own() -> None:
    steps = steps_of(policy__kl=series([10, 20]), rollout__return_mean=series([5, 27]))
    assert [s.taken for s in steps] == [10, 20, 27]
    assert steps[-1].signals == {"rollout.return_mean": 27.0}


def test_without_updates_the_episodes_are_the_steps() -> None:
    steps = steps_of(rollout__return_mean=series([5, 9]), eval__return_mean=series([7]))
    assert [s.taken for s in steps] == [5, 7, 9]


def test_seconds_are_since_the_first_value_by_the_longest_series() -> None:
    steps = steps_of(
        policy__kl=series([10, 20, 30, 40], times=[100.0, 107.0, 109.0, 130.0]),
        eval__return_mean=series([5, 25], times=[96.0, 500.0]),
    )
    assert [s.seconds for s in steps] == [4.0, 11.0, 13.0, 34.0]


def test_a_clock_that_goes_back_does_not_go_below_zero() -> None:
    steps = steps_of(policy__kl=series([10, 20], times=[100.0, 40.0]))
    assert [s.seconds for s in steps] == [0.0, 0.0]


def test_a_moment_before_the_longest_series_has_its_first_time() -> None:
    steps = steps_of(
        policy__kl=series([10, 20], times=[3.0, 4.0]), policy__entropy=series([5], times=[2.0])
    )
    assert [s.seconds for s in steps] == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("count", "thin", "moments"),
    [
        (6, 6, [1, 2, 3, 4, 5, 6]),
        (7, 6, [2, 4, 6, 7]),
        (6, 3, [2, 4, 6]),
        (6, 2, [3, 6]),
        (5, 2, [3, 5]),
    ],
)
def test_a_long_log_is_thinned_evenly_and_keeps_its_end(
    count: int, thin: int, moments: list[int]
) -> None:
    steps = steps_of(thin, policy__kl=series(range(1, count + 1)))
    assert [s.taken for s in steps] == moments
    assert [s.index for s in steps] == list(range(1, len(moments) + 1))


def test_a_log_of_nothing_has_no_steps() -> None:
    assert steps_of() == []
    assert steps_of(policy__kl=NOTHING) == []


def test_numbers_that_overflow_are_kept_as_what_they_become() -> None:
    steps = steps_of(policy__kl=series([1, 2]), rollout__reward_mean=series([1, 1], [1e308] * 2))
    assert steps[0].signals["rollout.reward_mean"] == math.inf
    assert series([1], [1e308]).times_factor(10.0).values.tolist() == [math.inf]


def looped(loops: int, rows: int = 20, pause: float = 0.0) -> dict[str, Series]:
    """Two names recorded together by a program that calls learn() again and again."""
    count = loops * rows
    at = np.arange(count)
    steps = 100 * (at % rows + 1)
    times = (at + pause * (at // rows)).astype(np.float64)
    order = at.astype(np.float64)
    return {name: Series(steps, times, order, 2.0 * order + n) for n, name in enumerate("ab")}


def test_steps_that_begin_anew_while_the_clock_runs_on_are_one_run() -> None:
    named, loops = unlooped(looped(5))
    assert loops == 4
    for series in named.values():
        assert series.steps.tolist() == [100 * (n + 1) for n in range(100)]
    assert without_restarts(named)[1] == 0


def test_a_run_begun_once_more_or_after_a_pause_is_no_loop() -> None:
    for named in (looped(2), looped(5, pause=5000.0), looped(1), {}):
        assert unlooped(named) == (named, 0)
