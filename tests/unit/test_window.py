"""What detectors see of a run: the newest values, the beginning, the extremes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from steadyrl.core.records import Step
from steadyrl.stability.course import WANDERS
from steadyrl.stability.rings import EARLY, SPAN
from steadyrl.stability.score import APART, called, evaluation_noise, objective, returns_of
from steadyrl.stability.window import TRAINING_RETURN, Window

LONG = SPAN + 44


def window_of(total: int | None = None, **signals: Iterable[float]) -> Window:
    """One Step per value, with indices 1, 2, ... (`__` in a name stands for a dot)."""
    window = Window(total)
    columns = {name.replace("__", "."): list(values) for name, values in signals.items()}
    for at in range(max((len(values) for values in columns.values()), default=0)):
        here = {name: values[at] for name, values in columns.items() if at < len(values)}
        window.append(Step(at + 1, 10 * (at + 1), 0.0, here))
    return window


def training(*values: float) -> Window:
    return window_of(rollout__return_mean=values)


@pytest.mark.parametrize("length", [1, SPAN - 1, SPAN, SPAN + 1, LONG])
def test_the_newest_values_are_kept_oldest_first(length: int) -> None:
    window = window_of(x=range(length))
    assert window.last("x").tolist() == list(range(length))[-SPAN:]
    assert window.last("x", 3).tolist() == list(range(length))[-3:]
    assert (window.count("x"), window.latest("x")) == (length, length - 1)


def test_extremes_are_those_of_the_whole_run() -> None:
    values = [5.0, -7.0, *([1.0] * SPAN), 2.0]
    window = window_of(x=values)
    assert (window.lowest("x"), window.highest("x")) == (-7.0, 5.0)
    assert (window_of(x=[3.0]).lowest("x"), window_of(x=[3.0]).highest("x")) == (3.0, 3.0)


def test_the_beginning_is_the_median_of_the_first_values_for_ever() -> None:
    first = [9.0, 1.0, 2.0, 8.0, 3.0]
    assert len(first) == EARLY
    assert window_of(x=first[:2]).first("x") == 5.0
    assert window_of(x=[*first, 100.0]).first("x") == 3.0
    assert window_of(x=[*first, *([100.0] * SPAN)]).first("x") == 3.0


def test_of_a_signal_that_was_never_seen_nothing_is_claimed() -> None:
    window = window_of(x=[1.0])
    assert math.isnan(window.first("y"))
    assert math.isnan(window.lowest("y"))
    assert math.isnan(window.highest("y"))
    assert math.isnan(window.latest("y"))
    assert window.latest("y", 4.0) == 4.0
    assert (window.count("y"), len(window.last("y"))) == (0, 0)
    assert window.last_raised("y") is None
    assert [len(part) for part in window.split("y", 1)] == [0, 0]
    assert window.missing(["x", "y"]) == ["y"]
    assert window.has("x")
    assert not window.has("x", "y")


def test_a_signal_is_fresh_while_the_newest_step_carries_it() -> None:
    window = window_of(x=[1.0, 2.0], y=[1.0, 2.0, 3.0])
    assert window.fresh("y")
    assert not window.fresh("x")
    assert not window.fresh("never")
    assert not Window().fresh("x")
    assert window_of(x=range(LONG)).fresh("x")


def test_progress_is_the_share_of_a_known_budget() -> None:
    assert window_of(40, x=[1.0, 2.0]).progress == 0.5
    assert math.isnan(window_of(x=[1.0]).progress)
    assert math.isnan(window_of(0, x=[1.0]).progress)
    assert math.isnan(Window(40).progress)


@pytest.mark.parametrize("length", [20, LONG])
def test_a_signal_is_split_at_the_index_of_a_step(length: int) -> None:
    window = window_of(x=range(1, length + 1))  # the value at a Step is its index
    before, after = window.split("x", length - 4)
    assert after.tolist() == list(range(length - 4, length + 1))
    assert before.tolist() == list(range(max(1, length - SPAN + 1), length - 4))


@pytest.mark.parametrize("quiet", [0, 7, SPAN - 1])
def test_the_newest_step_with_a_raised_signal_is_found(quiet: int) -> None:
    window = window_of(x=[0.0] * 50 + [1.0, 1.0] + [0.0] * quiet)
    assert window.last_raised("x") == 52


@pytest.mark.parametrize("values", [[0.0] * 9, [-1.0] * 9, [1.0] + [0.0] * SPAN])
def test_nothing_was_raised_that_is_not_positive_or_not_remembered(values: list[float]) -> None:
    assert window_of(x=values).last_raised("x") is None


@pytest.mark.parametrize(
    ("measured", "judged"),
    [
        (("eval.discounted_mean", "eval.return_mean", TRAINING_RETURN), "eval.discounted_mean"),
        (("eval.return_mean", TRAINING_RETURN), "eval.return_mean"),
        ((TRAINING_RETURN,), TRAINING_RETURN),
        ((), "eval.return_mean"),
    ],
)
def test_progress_is_judged_by_what_comes_closest_to_what_is_optimised(
    measured: tuple[str, ...], judged: str
) -> None:
    window = Window()
    window.append(Step(1, 1, 0.0, dict.fromkeys(measured, 0.0)))
    assert objective(window) == judged


def test_each_measure_of_progress_has_its_name() -> None:
    assert called(Window(None), "eval.discounted_mean") == "discounted return"
    assert called(Window(None), "eval.return_mean") == "return"
    assert called(training(1.0), TRAINING_RETURN) == "return of training episodes"
    tokens = window_of(language__length_mean=[5.0])
    assert called(tokens, TRAINING_RETURN) == "mean reward"


@pytest.mark.parametrize("length", [5, LONG])
def test_all_evaluations_count_that_are_remembered(length: int) -> None:
    window = window_of(eval__return_mean=range(length))
    assert returns_of(window, "eval.return_mean").tolist() == list(range(length))[-SPAN:]


def test_few_returns_of_training_episodes_all_count() -> None:
    assert returns_of(training(*range(APART)), TRAINING_RETURN).tolist() == list(range(APART))


@pytest.mark.parametrize("length", [APART + 1, 100, SPAN])
def test_of_many_returns_of_training_episodes_some_far_apart_count(length: int) -> None:
    chosen = returns_of(training(*range(length)), TRAINING_RETURN)
    assert len(chosen) == APART
    assert (chosen[0], chosen[-1]) == (0.0, length - 1)
    apart = np.diff(chosen)
    assert apart.min() >= (length - 1) // (APART - 1)
    assert apart.max() <= (length - 1) // (APART - 1) + 1


def test_what_is_forgotten_of_a_long_run_is_replaced_by_how_it_began() -> None:
    values = [7.0] * EARLY + [100.0] * SPAN
    chosen = returns_of(training(*values), TRAINING_RETURN)
    assert chosen[:3].tolist() == [7.0, 7.0, 100.0]
    assert set(chosen[2:]) == {100.0}


def test_while_all_is_remembered_nothing_is_replaced() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, *([100.0] * (SPAN - 5))]
    assert returns_of(training(*values), TRAINING_RETURN)[0] == 1.0


def test_a_look_at_the_returns_does_not_change_what_is_remembered() -> None:
    window = training(*range(LONG))
    returns_of(window, TRAINING_RETURN)
    assert window.last(TRAINING_RETURN).tolist() == list(range(LONG))[-SPAN:]


STEPS = [0.0, 1.0, 3.0, 6.0]  # differences 1, 2, 3


@pytest.mark.parametrize(
    ("signals", "name", "noise"),
    [
        ({"eval.return_mean": STEPS, "eval.return_std": [9.0, 5.0, 7.0, 5.0]}, None, 6.0),
        ({"eval.return_mean": STEPS}, None, 2.0),
        ({TRAINING_RETURN: STEPS}, None, WANDERS * 2.0),
        ({TRAINING_RETURN: STEPS, "eval.return_mean": [1.0, 8.0]}, TRAINING_RETURN, WANDERS * 2.0),
        ({"eval.return_mean": [4.0]}, None, 0.0),
    ],
)
def test_the_noise_of_evaluations_is_their_recorded_spread_or_that_between_neighbours(
    signals: dict[str, Any], name: str | None, noise: float
) -> None:
    window = window_of(None, **signals)
    assert evaluation_noise(window, name) == noise


@pytest.mark.parametrize(
    ("taken", "said"), [(25, "after 25% of the budget"), (101, "after 100% of the budget")]
)
def test_no_more_than_the_budget_is_said_to_be_used(taken: int, said: str) -> None:
    window = Window(100)
    window.append(Step(1, taken, 0.0, {}))
    assert window.so_far == said
    assert Window().so_far == "so far"
