"""What the trust region's controller does after failed line searches."""

from __future__ import annotations

from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.stability.controllers import CONTROLLERS
from steadyrl.stability.controllers.trust_region import adjust
from steadyrl.stability.window import Window

SETTINGS: dict[str, Any] = {
    "algorithm": "trpo",
    "environment": {"id": "X-v0"},
    "stabiliser": True,
    "stabiliser_failures": 3,
    "max_kl": 0.01,
    "stabiliser_kl_ratio": 0.8,
    "stabiliser_kl_floor": 0.005,
    "damping": 0.1,
    "stabiliser_damping_ratio": 1.5,
    "stabiliser_damping_cap": 0.2,
}


def changes(failed: float | None = 3.0, **settings: Any) -> dict[str, Any] | None:
    window = Window()
    signals = {} if failed is None else {"trpo.failed_in_a_row": failed}
    window.append(Step(1, 1, 0.0, signals))
    adjustment = adjust(window, parse_config({**SETTINGS, **settings}))
    return dict(adjustment.changes) if adjustment else None


BOTH = {"max_kl": pytest.approx(0.008), "damping": pytest.approx(0.15)}


@pytest.mark.parametrize(
    ("failed", "acts"),
    [(None, False), (0, False), (1, False), (2, False), (3, True), (4, False), (6, True)],
)
def test_it_acts_after_every_so_many_failures_in_a_row(failed: float | None, acts: bool) -> None:
    assert changes(failed) == (BOTH if acts else None)


def test_without_a_count_of_failures_none_is_assumed() -> None:
    assert changes(None, stabiliser_failures=1) is None
    assert changes(1, stabiliser_failures=1) == BOTH


def test_it_acts_only_where_it_was_asked_for() -> None:
    assert changes(stabiliser=False) is None
    window = Window()
    window.append(Step(1, 1, 0.0, {"trpo.failed_in_a_row": 3.0}))
    assert adjust(window, parse_config({"algorithm": "ppo", "environment": {"id": "X-v0"}})) is None
    assert adjust in CONTROLLERS


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_kl": 0.006}, {"max_kl": 0.005, "damping": pytest.approx(0.15)}),
        ({"max_kl": 0.005}, {"damping": pytest.approx(0.15)}),
        ({"max_kl": 0.001}, {"damping": pytest.approx(0.15)}),
        ({"damping": 0.18}, {"max_kl": pytest.approx(0.008), "damping": 0.2}),
        ({"damping": 0.2}, {"max_kl": pytest.approx(0.008)}),
        ({"damping": 0.5}, {"max_kl": pytest.approx(0.008)}),
        ({"damping": 0.2, "max_kl": 0.005}, None),
    ],
)
def test_it_goes_down_to_the_floor_and_up_to_the_cap_and_never_back(
    settings: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert changes(**settings) == expected


def test_an_adjustment_says_how_many_searches_failed() -> None:
    window = Window()
    window.append(Step(1, 1, 0.0, {"trpo.failed_in_a_row": 6.0}))
    adjustment = adjust(window, parse_config(SETTINGS))
    assert adjustment is not None
    assert adjustment.because == "6 line searches in a row failed"
