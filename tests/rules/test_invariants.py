"""Exact laws hold on healthy code whatever the rewards' scale, and broken code is caught at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.fault_bench.substitutions import SUBSTITUTIONS
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.prescribe import prescriptions

SCALES = (1e-4, 1.0, 3e3, 1e4, 1e6)
# Detectors that claim a law of correct code, not a statistic of healthy runs.
LAWS = {"D001", "D002", "D005", "D012", "D017", "D018", "D019", "D020", "D021", "D101", "D108"}


class Walk(gymnasium.Env[Any, Any]):
    """A walk that ends outside its arena, is cut off after some steps, and now and then does both.

    Rewards have no round numbers: those would hide what float32 does to others.
    """

    def __init__(self, scale: float = 1.0, buttons: bool = True) -> None:
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), dtype=np.float32)
        self.action_space = (
            gymnasium.spaces.Discrete(3)
            if buttons
            else gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        )
        self._scale, self._buttons = scale, buttons
        self._position, self._wind, self._time = 0.0, 0.0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._position, self._wind = self.np_random.uniform(-0.3, 0.3, size=2).tolist()
        self._time = 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        push = float(action) - 1.0 if self._buttons else float(action[0])
        self._position += 0.3 * push + 0.2 * self._wind
        self._time += 1
        reward = self._scale * (math.cos(2.0 * self._position) + 0.3 * self._position - 0.1)
        fallen, late = abs(self._position) > 0.9, self._time >= 6
        return self._observe(), reward, fallen, late, {}

    def _observe(self) -> Any:
        return np.array([self._position, self._wind], dtype=np.float32)


gymnasium.register("test/Walk-v0", entry_point=lambda **settings: Walk(**settings))

ALGORITHMS: dict[str, dict[str, Any]] = {
    "ppo": {"rollout_length": 16, "minibatch_size": 64, "epochs": 2},
    "trpo": {"rollout_length": 16, "critic_minibatch_size": 64, "critic_epochs": 2},
    "ddpg": {"learning_starts": 32, "train_every": 4, "batch_size": 32, "log_every": 32},
}
CUT = {
    "ppo": "rollout.truncated_as_terminated",
    "trpo": "rollout.truncated_as_terminated",
    "ddpg": "replay.truncated_as_terminated",
}


def config_of_walk(algorithm: str, scale: float) -> RunConfig:
    settings = {"scale": scale, "buttons": algorithm == "ppo"}
    values: dict[str, Any] = {
        "algorithm": algorithm,
        "total_env_steps": 384 if algorithm == "ddpg" else 768,
        "hidden_sizes": [16, 16],
        "environment": {"id": "test/Walk-v0", "count": 4, "settings": settings},
        "evaluation": {"episodes": 0},
        **ALGORITHMS[algorithm],
    }
    return parse_config(values)


def _watched(config: RunConfig, after: Callable[[Any], None] = lambda _: None) -> Monitor:
    """A run's monitor; what comes `after` every Step is done to the learner."""
    monitor, training = Monitor(config), prepare(config)
    for step in training.steps:
        monitor.observe(step)
        after(training.learner)
    return monitor


def _found(monitor: Monitor) -> set[str]:
    return {finding.rule for finding in monitor.findings}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_healthy_code_breaks_no_law_whatever_the_scale_of_rewards(
    algorithm: str, scale: float
) -> None:
    monitor = _watched(config_of_walk(algorithm, scale))
    assert monitor.window.highest("td.terminal_error") == 0.0
    assert monitor.window.highest(CUT[algorithm]) == 0.0
    assert _found(monitor) & LAWS == set()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("algorithm", "fault", "law"),
    [
        ("ppo", "on-policy-terminal-mask-missing", "D018"),
        ("trpo", "on-policy-terminal-mask-missing", "D018"),
        ("ppo", "on-policy-truncation-as-termination", "D019"),
        ("trpo", "on-policy-truncation-as-termination", "D019"),
        ("ppo", "probabilities-mismatch", "D101"),
        ("trpo", "probabilities-mismatch", "D101"),
        ("ppo", "policy-optimiser-detached", "D002"),
        ("ddpg", "terminal-mask-missing", "D018"),
        ("ddpg", "truncation-as-termination", "D019"),
        ("ddpg", "successors-misaligned", "D020"),
        ("ddpg", "target-not-updated", "D012"),
        ("ddpg", "optimiser-detached", "D002"),
    ],
)
def test_a_broken_law_is_found_whatever_the_scale_of_rewards(
    algorithm: str, fault: str, law: str, scale: float
) -> None:
    with SUBSTITUTIONS[fault](1.0):
        monitor = _watched(config_of_walk(algorithm, scale))
    assert law in _found(monitor)


@pytest.mark.parametrize("scale", SCALES)
def test_a_critic_that_grows_without_end_is_found_whatever_the_scale_of_rewards(
    scale: float,
) -> None:
    def grow(learner: Any) -> None:
        learner.critics[0].parameters.mul_(3.0)

    assert "D005" in _found(_watched(config_of_walk("ddpg", scale), grow))


@pytest.mark.parametrize("scale", [3e3, 1e4, 1e6])
def test_large_rewards_are_named_and_normalised_not_taken_for_broken_code(scale: float) -> None:
    config = config_of_walk("ppo", scale)
    monitor = _watched(config)
    first = monitor.diagnose({})[0]
    assert first.cause == "C255"
    said = prescriptions([first], config, monitor.window)
    assert said == {"R337": "normalize_rewards False -> True"}
