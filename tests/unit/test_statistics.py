"""Figures over seeds, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from steadyrl.experiments.statistics import (
    bootstrap,
    bootstrap_mean,
    iqm,
    paired_difference,
    probability_of_improvement,
    wilson,
)


def test_iqm_is_the_mean_of_the_middle_half() -> None:
    assert iqm(np.arange(8.0)) == pytest.approx(np.mean([2, 3, 4, 5]))
    assert iqm(np.array([0.0, 1.0, 2.0, 100.0])) == pytest.approx(1.5)


def test_iqm_weighs_the_edges_when_a_quarter_is_not_whole() -> None:
    # Of six values a quarter is 1.5: the second and fifth count half.
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    assert iqm(values) == pytest.approx((0.5 * 1 + 2 + 3 + 0.5 * 4) / 3)


def test_probability_of_improvement_counts_pairs_and_half_of_ties() -> None:
    ours, theirs = [np.array([1.0, 3.0])], [np.array([2.0, 3.0])]
    estimate = probability_of_improvement(ours, theirs)
    assert estimate.value == pytest.approx((0 + 0 + 1 + 0.5) / 4)
    assert estimate.low <= estimate.value <= estimate.high


def test_probability_of_improvement_resamples_as_indexing_would() -> None:
    generator = np.random.default_rng(3)
    ours, theirs = generator.normal(0.5, 1, 6), generator.normal(0, 1, 5)
    wins = (ours[:, None] > theirs[None]).astype(float)
    drawn = []
    for _ in range(4000):
        rows, columns = generator.integers(6, size=6), generator.integers(5, size=5)
        drawn.append(wins[rows][:, columns].mean())
    estimate = probability_of_improvement([ours], [theirs])
    assert [estimate.low, estimate.high] == pytest.approx(
        np.quantile(drawn, [0.025, 0.975]), abs=0.04
    )


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for trial in range(200):
        _, low, high = bootstrap_mean(generator.normal(size=30).tolist(), seed=trial)
        hits += low <= 0 <= high
    assert 0.89 <= hits / 200 <= 0.99


def test_strata_are_never_mixed() -> None:
    # Within a task all runs are alike, so nothing varies, however different the tasks are.
    estimate = bootstrap([np.full(4, 1.0), np.full(4, 9.0)], lambda x: x.mean(axis=-1))
    assert (estimate.low, estimate.value, estimate.high) == (5.0, 5.0, 5.0)


def test_pairing_removes_what_a_seed_does_to_both() -> None:
    seeds = np.array([0.0, 100.0, -50.0, 30.0])
    estimate = paired_difference([seeds + 1.0], [seeds])
    assert (estimate.low, estimate.high) == (1.0, 1.0)
    assert estimate.excludes(0.0)


def test_wilson_is_never_empty_at_the_ends() -> None:
    assert wilson(0, 62).high == pytest.approx(0.0583, abs=1e-3)
    assert wilson(62, 62).low == pytest.approx(1 - 0.0583, abs=1e-3)
