"""Medians, spreads, trends and falls: numbers worked out by hand or by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from steadyrl.maths.robust import (
    MAD_TO_SIGMA,
    Floats,
    Trend,
    median,
    median_and_spread,
    page_hinkley_drop,
    robust_z,
    trend,
)


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    "values",
    [
        (3.0,),
        (1.0, 2.0),
        (9.0, 1.0, 4.0),
        (0.1, 0.7, 0.2, 0.3),
        (1.0, math.nan, 2.0),
        (math.inf, -math.inf),
        (math.inf, 1.0, -math.inf),
        (math.inf, 2.0, math.inf, 1.0),
    ],
)
def test_the_median_is_numpys_bit_for_bit(values: tuple[float, ...]) -> None:
    with np.errstate(all="ignore"):
        wanted = float(np.median(floats(*values)))
    for found in (median(floats(*values)), median(list(values))):
        assert found == wanted or (math.isnan(found) and math.isnan(wanted))


def test_the_median_of_any_drawn_array_is_numpys() -> None:
    generator = np.random.default_rng(3)
    for count in range(1, 300):
        drawn = generator.normal(size=count) * 10.0 ** generator.integers(-8, 8)
        before = drawn.copy()
        assert median(drawn) == float(np.median(drawn))
        np.testing.assert_array_equal(drawn, before)


def test_the_median_of_nothing_is_no_number() -> None:
    assert math.isnan(median(floats()))


def test_the_spread_is_the_median_deviation_in_sigmas_of_a_normal() -> None:
    assert median_and_spread(floats(1.0, 2.0, 4.0, 9.0, 90.0)) == (4.0, MAD_TO_SIGMA * 3.0)
    drawn = np.random.default_rng(0).normal(5.0, 2.0, 20_000)
    assert median_and_spread(drawn) == pytest.approx((5.0, 2.0), rel=0.03)


@pytest.mark.parametrize(
    ("value", "past", "z"),
    [
        (7.0, (1.0, 2.0, 3.0), 5.0 / MAD_TO_SIGMA),
        (-3.0, (1.0, 2.0, 3.0), -5.0 / MAD_TO_SIGMA),
        (0.5, (0.1, 0.2, 0.3), 3.0 / MAD_TO_SIGMA),
        (4.0, (4.0, 4.0, 4.0), 0.0),
        (4.1, (4.0, 4.0, 4.0), math.inf),
        (3.9, (4.0, 4.0, 4.0), -math.inf),
    ],
)
def test_a_value_is_measured_in_spreads_of_its_past(
    value: float, past: tuple[float, ...], z: float
) -> None:
    assert robust_z(value, floats(*past)) == pytest.approx(z)


def test_two_values_make_no_trend_and_three_do() -> None:
    assert trend(floats(1.0, 9.0)) == Trend(0.0, 1.0)
    assert trend(floats(1.0, 9.0, 17.0)).slope == 8.0


def test_what_never_moves_has_no_trend() -> None:
    assert trend(floats(*[3.0] * 8)) == Trend(0.0, 1.0)


@pytest.mark.parametrize(
    "values",
    [
        (1.0, 3.0, 2.0, 5.0, 4.0, 7.0),
        (7.0, 4.0, 5.0, 2.0, 3.0, 1.0),
        (1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.0),
        (2.0, 2.0, 2.0, 5.0),
        (0.0, 10.0, 1.0, -100.0),
    ],
)
def test_the_slope_is_that_of_theil_and_sen(values: tuple[float, ...]) -> None:
    slope = stats.theilslopes(values)[0]
    assert trend(floats(*values)).slope == pytest.approx(slope)


def test_the_p_value_is_mann_and_kendalls_with_continuity_and_ties() -> None:
    # Of 15 pairs 13 rise and 2 fall: a score of 11, and 10 with the correction for continuity.
    assert trend(floats(1, 3, 2, 5, 4, 7)).p_value == pytest.approx(
        math.erfc(10.0 / math.sqrt(6 * 5 * 17 / 18.0) / math.sqrt(2.0))
    )
    # Three pairs of equals take 3 * (2 * 1 * 9) from 6 * 5 * 17.
    assert trend(floats(1, 1, 2, 2, 3, 3)).p_value == pytest.approx(
        math.erfc(11.0 / math.sqrt((6 * 5 * 17 - 3 * 18) / 18.0) / math.sqrt(2.0))
    )
    # As many rise as fall.
    assert trend(floats(1.0, 2.0, 2.0, 1.0)).p_value == 1.0


def test_a_trend_and_its_mirror_image_are_equally_certain() -> None:
    values = floats(1.0, 3.0, 2.0, 5.0, 4.0, 7.0, 9.0)
    up, down = trend(values), trend(-values)
    assert (up.slope, up.p_value) == (-down.slope, down.p_value)


def test_a_fall_adds_up_what_lies_below_the_running_mean() -> None:
    # Neighbours differ by 1 in the median: the noise is 1.4826 / sqrt(2).
    values = floats(0.0, 1.0, 0.0, 1.0, -9.0)
    noise = MAD_TO_SIGMA / math.sqrt(2.0)
    # The mean of all is -1.4; what the third value fell short, the fourth made up for.
    assert page_hinkley_drop(values, slack=0.0) == pytest.approx(7.6 / noise)


def test_a_fall_is_forgotten_once_it_is_made_up_for() -> None:
    down_and_up = floats(0.0, 1.0, 0.0, 1.0, -3.0, 9.0, 9.0, 9.0, 9.0)
    again = np.append(down_and_up, [8.0])
    assert page_hinkley_drop(again, slack=0.0) == page_hinkley_drop(down_and_up, slack=0.0)


def test_a_run_that_rises_or_stands_has_not_fallen() -> None:
    assert page_hinkley_drop(floats(*range(9)), slack=0.0) == 0.0
    assert page_hinkley_drop(floats(*[2.0] * 9), slack=0.0) == 0.0
    assert page_hinkley_drop(floats(9.0, 0.0), slack=0.0) == 0.0  # two values say nothing


def test_three_values_may_have_fallen() -> None:
    assert page_hinkley_drop(floats(9.0, 8.0, 0.0), slack=0.0) > 1.0


def test_slack_is_what_each_value_may_fall_short() -> None:
    values = floats(*[0.0, 1.0] * 10, *[-1.0, -2.0] * 5)
    full = page_hinkley_drop(values, slack=0.0)
    some = page_hinkley_drop(values, slack=0.5)
    assert 0.0 < some < full
    assert page_hinkley_drop(values, slack=50.0) == 0.0


def test_without_noise_between_neighbours_the_spread_of_all_is_the_unit() -> None:
    values = floats(*[4.0] * 8, 0.0, 0.0)
    spread = float(np.std(values))
    shortfall = 4.0 * 8 / 9 + 4.0 * 8 / 10
    assert page_hinkley_drop(values, slack=0.0) == pytest.approx(shortfall / spread)
