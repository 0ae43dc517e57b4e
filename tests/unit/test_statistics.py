"""What decides over seeds: exact at small numbers, never fooled more often than it says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from steadyrl.core.final import final_mean, first_mean
from steadyrl.maths.statistics import (
    Estimate,
    Floats,
    SignFlips,
    fewest_pairs,
    iqm,
    median_interval,
    middle_half,
    probability_of_improvement,
    rank_p,
    share_interval,
    wilson,
)

Draw = Callable[[np.random.Generator, int], Floats]

NULLS: dict[str, Draw] = {
    "normal": lambda generator, count: generator.normal(size=count),
    "heavy-tailed": lambda generator, count: generator.standard_t(1.5, size=count),
    "two-valued": lambda generator, count: generator.choice([-400.0, 400.0], size=count),
    "mostly ties": lambda generator, count: generator.choice([-400.0, 0.0, 0.0, 400.0], size=count),
}


def _looks(seeds: int, early: bool) -> tuple[int, ...]:
    return tuple(range(fewest_pairs(), seeds + 1)) if early and seeds > 6 else (seeds,)


def _false_clear(seeds: int, draw: Draw, *, early: bool, trials: int) -> float:
    """How often sign flips call it clear, at any look, where there is nothing."""
    test, generator = SignFlips(_looks(seeds, early)), np.random.default_rng(seeds)
    return sum(bool(test.called(draw(generator, seeds))[0]) for _ in range(trials)) / trials


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("seeds", [3, 5, 6, 7, 8, 10])
def test_chance_is_called_clear_in_at_most_a_twentieth_of_all_comparisons(
    seeds: int, null: str, early: bool
) -> None:
    trials = 400
    share = _false_clear(seeds, NULLS[null], early=early, trials=trials)
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    if seeds < 6:
        assert share == 0


@pytest.mark.slow
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("seeds", range(3, 21))
def test_chance_is_seldom_clear_at_every_number_of_seeds(
    seeds: int, null: str, early: bool
) -> None:
    trials = 1000
    share = _false_clear(seeds, NULLS[null], early=early, trials=trials)
    assert share <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("null", NULLS)
@pytest.mark.parametrize("seeds", [6, 8, 12, 14])
def test_of_all_sign_patterns_at_most_a_twentieth_is_ever_called_clear(
    seeds: int, null: str
) -> None:
    generator = np.random.default_rng(seeds)
    for looks in (_looks(seeds, early=True), _looks(seeds, early=False)):
        test = SignFlips(looks)
        for _ in range(5):
            assert test.called(NULLS[null](generator, seeds)).mean() <= 0.05


def test_one_look_is_the_paired_permutation_test() -> None:
    generator = np.random.default_rng(2)
    for count in (4, 6, 9):
        differences = generator.normal(0.4, 1.0, size=count)
        theirs = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert SignFlips((count,)).p_value(differences) == pytest.approx(theirs.pvalue)


def test_many_seeds_are_judged_by_a_sample_of_the_patterns() -> None:
    differences = np.random.default_rng(4).normal(0.5, 1.0, size=16)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=99_999, rng=1
    )
    assert SignFlips((16,)).p_value(differences) == pytest.approx(theirs.pvalue, abs=0.01)


@pytest.mark.parametrize(("seeds", "patterns"), [(11, 2**11), (12, 2**12), (13, 10_000)])
def test_up_to_twelve_seeds_all_patterns_are_looked_at(seeds: int, patterns: int) -> None:
    assert len(SignFlips((seeds,)).called(np.ones(seeds))) == patterns


def test_what_spends_exactly_what_is_allowed_is_clear() -> None:
    test, differences = SignFlips((6,), error_rate=2 / 64), np.ones(6)
    assert test.p_value(differences) == test.allowed(6)
    assert test.clear(differences)
    assert test.called(differences)[0]


def test_six_seeds_of_one_sign_are_clear_and_five_never_are() -> None:
    assert fewest_pairs() == 6
    same = np.array([1.0, 9.0, 2.0, 3.0, 100.0, 5.0])
    assert SignFlips((6,)).p_value(same) == pytest.approx(2 / 64)
    assert SignFlips((6,)).clear(same)
    assert not SignFlips((5,)).clear(same[:5])
    assert not SignFlips((6,)).clear(np.where(np.arange(6) == 4, -same, same))


def test_an_early_look_may_spend_only_its_part() -> None:
    same = np.ones(6)
    assert SignFlips(tuple(range(6, 9))).clear(same)  # 2 in 64, of 6/8 of 5 %
    assert not SignFlips(tuple(range(6, 13))).clear(same)  # of 6/12 of 5 %
    assert SignFlips(tuple(range(6, 13))).clear(np.ones(7))


def test_what_an_earlier_look_spent_is_gone_at_the_next() -> None:
    # 2 of 64 patterns are clear at six; of the eighth's 5 % that leaves 0.01875, or 4 of 256.
    late, once = SignFlips((6, 7, 8)), SignFlips((8,))
    differences = np.array([-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    assert once.p_value(differences) == pytest.approx(4 / 256)
    assert late.p_value(differences) > once.p_value(differences)


def test_the_interval_holds_zero_exactly_where_nothing_is_clear() -> None:
    generator = np.random.default_rng(7)
    for seeds, shift in itertools.product((6, 8), (0.0, 0.7, 1.5)):
        test = SignFlips(_looks(seeds, early=True))
        for _ in range(10):
            differences = generator.normal(shift, 1.0, size=seeds)
            assert test.interval(differences).excludes(0.0) is test.clear(differences)


def test_the_interval_of_six_seeds_reaches_from_the_lowest_to_the_highest() -> None:
    found = SignFlips((6,)).interval(np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.5]))
    assert (found.value, found.low, found.high) == pytest.approx((3.5, 1.0, 9.0), rel=1e-4)


def test_the_interval_moves_and_turns_with_the_differences() -> None:
    differences = np.random.default_rng(1).normal(size=9)
    test = SignFlips((9,))
    found, moved, turned = (
        test.interval(shown) for shown in (differences, differences + 5, -differences)
    )
    assert (moved.low, moved.high) == pytest.approx((found.low + 5, found.high + 5), abs=1e-6)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-6)
    assert found.low < found.value < found.high


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator, test = np.random.default_rng(0), SignFlips((8,))
    hits = 0
    for _ in range(150):
        found = test.interval(generator.normal(2.0, 3.0, size=8))
        hits += found.low <= 2.0 <= found.high
    assert 0.90 <= hits / 150 <= 0.99


def test_too_few_seeds_have_no_interval_and_say_so() -> None:
    found = SignFlips((5,)).interval(np.arange(1.0, 6.0))
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert f"{found:.1f}" == "3.0 [too few seeds]"
    assert f"{Estimate(1.0, 0.5, 2.0):.1f}" == "1.0 [0.5, 2.0]"
    assert f"{Estimate(1.0, -math.inf, 2.0):.1f}" == "1.0 [-inf, 2.0]"
    assert f"{Estimate(1.0, 0.5, math.inf):.1f}" == "1.0 [0.5, inf]"


@pytest.mark.parametrize(("point", "outside"), [(0.4, True), (0.5, False), (2.0, False), (3, True)])
def test_an_interval_excludes_what_lies_beyond_its_ends(point: float, outside: bool) -> None:
    assert Estimate(1.0, 0.5, 2.0).excludes(point) is outside


@pytest.mark.parametrize(
    ("count", "error_rate", "low", "high"),
    [
        (4, 0.032, -math.inf, math.inf),  # 1 in 16
        (5, 0.032, 1, 5),  # 1 in 32
        (6, 0.025, 1, 6),  # 1 in 64
        (10, 0.018, 2, 9),  # 11 in 1,024
        (10, 0.010, 1, 10),
    ],
)
def test_the_median_lies_between_order_statistics(
    count: int, error_rate: float, low: float, high: float
) -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, count + 1))
    found = median_interval(values.tolist(), error_rate)
    assert (found.value, found.low, found.high) == ((count + 1) / 2, low, high)


def test_the_median_of_nothing_is_not_known() -> None:
    assert math.isnan(median_interval([]).value)


@pytest.mark.parametrize("skewed", [False, True])
def test_each_end_of_the_medians_interval_errs_as_seldom_as_it_says(skewed: bool) -> None:
    generator = np.random.default_rng(3)
    missed = 0
    for _ in range(1000):
        values = generator.normal(size=5)
        missed += (
            median_interval((np.exp(3 * values) - 1 if skewed else values).tolist(), 0.032).low > 0
        )
    assert missed / 1000 <= 0.032 + 3 * math.sqrt(0.032 / 1000)


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [
        ([4, 5, 6], [1, 2, 3], 1 / 20),
        ([5, 6, 7, 8], [1, 2, 3, 4], 1 / 70),
        ([1e9, 6, 7, 8], [-1e9, 2, 3, 4], 1 / 70),  # by rank: enormous counts no more than best
        ([1, 2, 3, 4], [5, 6, 7, 8], 1.0),
        ([1, 1, 1, 1], [0, 0, 0, 0], 1 / 70),
        ([1, 1, 1, 1], [0, 0, 0, 1], 5 / 70),
        ([2, 2, 2], [2, 2, 2], 1.0),
        ([math.inf, 3, 2], [-math.inf, 0, 1], 1 / 20),
    ],
)
def test_labels_are_permuted_by_rank(
    better: Sequence[float], worse: Sequence[float], p: float
) -> None:
    assert rank_p(better, worse) == pytest.approx(p)


def test_equal_groups_are_set_apart_by_chance_as_seldom_as_it_says() -> None:
    generator = np.random.default_rng(5)
    for count, draw in itertools.product((3, 4), NULLS.values()):
        trials = 80
        found = [
            rank_p(list(draw(generator, count)), list(draw(generator, count)))
            for _ in range(trials)
        ]
        assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 / trials)


def test_a_share_of_few_runs_has_an_exact_interval() -> None:
    assert share_interval(6, 6).low == pytest.approx(0.025 ** (1 / 6))
    assert share_interval(0, 6).high == pytest.approx(1 - 0.025 ** (1 / 6))
    assert (share_interval(0, 0).low, share_interval(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize("share", [share_interval, wilson])
def test_of_no_runs_no_share_is_known(share: Callable[[int, int], Estimate]) -> None:
    found = share(0, 0)
    assert math.isnan(found.value)
    assert (found.low, found.high) == (0.0, 1.0)
    assert math.isfinite(share(0, 1).value)


def test_wilson_by_hand() -> None:
    found = wilson(8, 10, z=2.0)
    root = math.sqrt(0.8 * 0.2 / 10 + 4 / 400)
    assert found.value == 0.8
    assert found.low == pytest.approx((0.8 + 0.2 - 2 * root) / 1.4)
    assert found.high == pytest.approx((0.8 + 0.2 + 2 * root) / 1.4)


def test_wilson_is_never_empty_at_the_ends() -> None:
    assert wilson(0, 62).high == pytest.approx(0.0583, abs=1e-3)
    assert wilson(62, 62).low == pytest.approx(1 - 0.0583, abs=1e-3)


def test_iqm_is_the_mean_of_the_middle_half() -> None:
    assert iqm(np.arange(8.0)) == pytest.approx(np.mean([2, 3, 4, 5]))
    assert iqm(np.array([0.0, 1.0, 2.0, 100.0])) == pytest.approx(1.5)


def test_iqm_weighs_the_edges_when_a_quarter_is_not_whole() -> None:
    # Of six values a quarter is 1.5: the second and fifth count half.
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    assert iqm(values) == pytest.approx((0.5 * 1 + 2 + 3 + 0.5 * 4) / 3)


def test_the_middle_half_is_shown_beside_the_iqm() -> None:
    found = middle_half(np.array([0.0, 10.0, 20.0, 30.0, 1000.0]))
    assert (found.low, found.high) == (10.0, 30.0)
    assert found.value == iqm(np.array([0.0, 10.0, 20.0, 30.0, 1000.0]))


def test_probability_of_improvement_counts_pairs_and_half_of_ties() -> None:
    ours, theirs = np.array([1.0, 3.0]), np.array([2.0, 3.0])
    assert probability_of_improvement(ours, theirs) == pytest.approx((0 + 0 + 1 + 0.5) / 4)


def test_the_end_is_the_last_tenth_and_at_least_three() -> None:
    assert final_mean([1.0, 2.0, 3.0, 4.0]) == 3.0
    assert final_mean(list(range(100))) == pytest.approx(94.5)
    assert first_mean(list(range(100))) == pytest.approx(4.5)
    assert final_mean([7.0]) == 7.0
    assert math.isnan(final_mean([]))
    assert math.isnan(first_mean([]))
