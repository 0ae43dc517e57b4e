"""Curves for charts: whatever they leave out, never a spike and never a value that is no number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyrl.store.foreign.run import ForeignRun
from steadyrl.views.curves import POINTS, curve, curves_of, thin


def test_thinning_keeps_both_ends_and_every_spike() -> None:
    y = np.zeros(50_000)
    y[31_234], y[777] = 1e6, -1e6
    kept = thin(y)
    assert len(kept) <= POINTS + 2
    assert {31_234, 777, 0, 49_999} <= set(kept.tolist())
    assert (np.diff(kept) > 0).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_thinning_keeps_a_lone_value_that_is_no_number_and_its_neighbours(odd: float) -> None:
    y = np.zeros(50_000)
    y[20_000:20_005] = 5.0, -3.0, odd, 4.0, -2.0
    kept = thin(y)
    assert kept[~np.isfinite(y[kept])].tolist() == [20_002]
    assert {5.0, -3.0} <= set(y[kept])


def test_thinning_bounds_a_curve_without_any_number() -> None:
    kept = thin(np.full(50_000, np.nan))
    assert len(kept) <= POINTS + 2
    assert (kept[0], kept[-1]) == (0, 49_999)


@given(
    st.lists(st.floats(width=32), min_size=1, max_size=300),
    st.integers(min_value=4, max_value=60),
)
def test_extremes_survive_any_thinning_and_so_does_each_kind_of_no_number(
    values: list[float], points: int
) -> None:
    y = np.array(values)
    kept = y[thin(y, points)]
    known = y[np.isfinite(y)]
    if len(known):
        left = kept[np.isfinite(kept)]
        assert (left.min(), left.max()) == (known.min(), known.max())
    for odd in (np.isnan, np.isposinf, np.isneginf):
        assert odd(kept).any() == odd(y).any()


def test_what_is_no_number_is_a_gap_and_is_said() -> None:
    y = np.array([1.0, np.nan, 3.0, np.inf, -np.inf, 2.0])
    found = curve(np.arange(6.0), y)
    assert list(found.y) == [1.0, None, 3.0, None, None, 2.0]
    assert list(found.odd) == [(1.0, "nan"), (3.0, "inf"), (4.0, "-inf")]
    json.dumps(found.to_json(), allow_nan=False)


def test_a_curve_of_numbers_has_nothing_odd() -> None:
    assert "odd" not in curve(np.array([0.0, 1.0]), np.array([1.0, 2.0])).to_json()


def test_of_another_programs_log_every_extreme_is_drawn_however_long_it_is(tmp_path: Path) -> None:
    values = np.sin(np.arange(30_000) / 500)
    values[12_345], values[20_001], values[25_000] = 99.0, np.nan, -np.inf
    rows = [f"{step},{value}" for step, value in enumerate(values)]
    (tmp_path / "progress.csv").write_text("total_timesteps,policy.kl\n" + "\n".join(rows) + "\n")
    drawn = curves_of(ForeignRun(tmp_path), None)["policy.kl"]
    assert max(value for value in drawn.y if value is not None) == 99.0
    assert list(drawn.odd) == [(20_001, "nan"), (25_000, "-inf")]
    assert len(drawn.x) < 2000
