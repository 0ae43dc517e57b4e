"""A return that is always the same is told as such."""

from __future__ import annotations

from steadyrl.core.records import Step
from steadyrl.stability.monitor import Monitor
from tests.rules.test_rules import config_of


def told(values: list[float]) -> list[str]:
    monitor = Monitor(config_of("a2c"))
    for at, value in enumerate(values):
        signals = {"rollout.return_mean": value, "policy.loss": 0.1}
        monitor.observe(Step(at + 1, 100 * (at + 1), 0.0, signals))
    monitor.findings.clear()  # what is said on the way is another matter
    monitor._spoken.clear()
    monitor.look_back()
    return [finding.message for finding in monitor.findings if finding.rule == "D011"]


def test_a_constant_return_is_said_to_be_constant() -> None:
    (message,) = told([-50.0] * 60)
    assert "ends at -50 and never anything else" in message


def test_a_return_that_wanders_is_not() -> None:
    (message,) = told([-50.0 + at % 3 for at in range(60)])
    assert "never anything else" not in message
