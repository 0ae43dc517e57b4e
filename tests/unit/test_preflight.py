"""What a few hundred real steps tell before the budget is spent."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import RunConfig
from steadyrl.environments import RESIDUAL_CONTROL
from steadyrl.experiments.preflight import preflight
from steadyrl.stability.check import check_config
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window
from tests.conftest import Countdown


class Costly(Countdown):
    """Every step costs one, the last one as much as it is told."""

    def __init__(self, last: float = 1.0) -> None:
        super().__init__()
        self._last = last

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen, _, terminated, truncated, info = super().step(action)
        return seen, -self._last if terminated else -1.0, terminated, truncated, info


gymnasium.register("test/Costly-v0", entry_point=lambda **settings: Costly(**settings))


def _config(**changes: Any) -> RunConfig:
    values = {"algorithm": "ppo", "rollout_length": 64, "hidden_sizes": [8]}
    return parse_config({**values, "environment": {"id": "test/Costly-v0"}}, overrides=changes)


def _rules(config: RunConfig) -> list[str]:
    return [concern.rule for concern in preflight(config)]


@pytest.mark.parametrize(
    ("gamma", "last", "pays"), [(0.99, 1.0, True), (0.99, 200.0, False), (1.0, 200.0, True)]
)
def test_an_early_end_pays_unless_it_costs_as_much_as_living_on(
    gamma: float, last: float, pays: bool
) -> None:
    config = _config(**{"gamma": gamma, "environment.settings.last": last})
    assert ("P003" in _rules(config)) == pays


def test_without_a_discount_no_penalty_is_advised() -> None:
    (concern,) = (c for c in preflight(_config(gamma=1.0)) if c.rule == "P003")
    assert "gamma below 1" in concern.remedy
    assert "inf" not in concern.message + concern.remedy


def test_a_task_whose_end_is_free_is_checked_without_a_discount() -> None:
    config = _config(**{"gamma": 1.0, "environment.id": RESIDUAL_CONTROL})
    (concern,) = (c for c in check_config(config) if c.rule == "S007")
    assert "more than any penalty" in concern.message
    assert REMEDIES["R306"].proposal(config, Window(1000)) is None


def test_a_clone_without_an_environment_is_only_trained() -> None:
    values = {"algorithm": "bc", "hidden_sizes": [8], "demonstrations": {"expert_length": 20}}
    assert _rules(parse_config(values)) == []
