"""A learning rate is weighed for whatever descends a loss, by what is usual for it."""

from __future__ import annotations

from typing import Any

import pytest

from steadyrl.core.records import Step
from steadyrl.stability.monitor import Monitor
from tests.rules.test_rules import config_of

BLIND = "rollout.return_mean"


def causes(family: str, signals: dict[str, Any], **settings: float) -> list[str]:
    """What is named for a run of that family whose return stands still."""
    monitor = Monitor(config_of(family, settings))
    for at in range(60):
        values = {name: value(at) if callable(value) else value for name, value in signals.items()}
        monitor.observe(Step(at + 1, 100 * (at + 1), 0.0, {BLIND: 9.0 + at % 2, **values}))
    monitor.look_back()
    assert "D011" in {finding.rule for finding in monitor.findings}
    return [diagnosis.cause for diagnosis in monitor.diagnose()]


@pytest.mark.parametrize(("rate", "cause"), [(0.5, "C201"), (1e-7, "C202")])
def test_an_a2c_run_that_learns_nothing_is_explained_by_its_rate(rate: float, cause: str) -> None:
    assert causes("a2c", {"policy.loss": 0.1}, learning_rate=rate)[:1] == [cause]
    assert causes("a2c", {"policy.loss": 0.1, "setting.learning_rate": rate})[:1] == [cause]


def test_a_usual_rate_explains_nothing() -> None:
    named = causes("a2c", {"policy.loss": 0.1}, learning_rate=7e-4)
    assert not {"C201", "C202"} & set(named)


def test_the_rates_of_a_random_search_are_its_own() -> None:
    assert causes("search", {}, learning_rate=0.02) == []


def test_a_schedule_that_ends_at_zero_is_no_low_rate() -> None:
    falling = {"policy.loss": 0.1, "setting.learning_rate": lambda i: 1e-3 * (1.0 - i / 60)}
    assert "C202" not in causes("a2c", falling)


def test_rates_of_policies_are_not_judged_by_those_of_values() -> None:
    assert not {"C201", "C202"} & set(causes("ppo", {"policy.loss": 0.1}, learning_rate=0.5))
