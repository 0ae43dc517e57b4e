"""Networks of one's own: the same slopes as ours, trained, resumed, loaded and exported."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

import steadyrl
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.errors import CheckpointError, ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.exporting import export_policy
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.nets.as_module import as_module
from steadyrl.nets.dense import DenseNetwork
from steadyrl.nets.own import OwnNetwork
from steadyrl.run import Observers

HERE = "tests.unit.test_own_networks"


def make(space: Any, outputs: int) -> nn.Module:
    """As a user would write it."""
    size = int(np.prod(space.shape))
    return nn.Sequential(
        nn.Flatten(), nn.Linear(size, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, outputs)
    )


def too_many(space: Any, outputs: int) -> nn.Module:
    return make(space, outputs + 1)


def no_module(space: Any, outputs: int) -> list[int]:
    return [outputs]


def raising(space: Any, outputs: int) -> nn.Module:
    raise RuntimeError("no such backbone")


def without_weights(space: Any, outputs: int) -> nn.Module:
    return nn.Flatten()


class Functional(nn.Module):
    """Activations that are no layers cannot be looked at, and need not be."""

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(size, 8), nn.Linear(8, outputs)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(torch.relu(self.first(rows)))
        return found


def functional(space: Any, outputs: int) -> nn.Module:
    return Functional(int(np.prod(space.shape)), outputs)


class Viewing(nn.Module):
    """As many do after convolutions: `view`, which wants rows that lie in one piece."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.convolved, self.last = nn.Conv2d(3, 2, 8, 8), nn.Linear(50, outputs)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        frames.view(len(frames), -1)
        features = self.convolved(frames.float()).relu()
        found: torch.Tensor = self.last(features.view(len(features), -1))
        return found


def viewing(_space: Any, outputs: int) -> nn.Module:
    return Viewing(outputs)


class Frames(gymnasium.Env[Any, Any]):
    """Frames without meaning."""

    observation_space = gymnasium.spaces.Box(0, 255, (3, 40, 40), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen(), float(action), False, bool(self.np_random.random() < 0.1), {}

    def _seen(self) -> Any:
        return self.np_random.integers(0, 256, (3, 40, 40), dtype=np.uint8)


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_a_network_over_frames_may_view_them_as_it_likes(algorithm: str) -> None:
    environment = {"id": f"{HERE}:Frames", "count": 2}
    steps = prepare(_config(algorithm, "viewing", environment=environment)).steps
    assert math.isfinite(next(iter(steps)).signals["policy.entropy"])


COMMON: dict[str, Any] = {"total_env_steps": 96, "evaluation": {"every": 32, "episodes": 1}}
CONFIGS: dict[str, dict[str, Any]] = {
    "ppo": {
        **COMMON,
        "environment": {"id": "CartPole-v1"},
        "rollout_length": 32,
        "minibatch_size": 16,
        "epochs": 2,
    },
    "trpo": {**COMMON, "environment": {"id": "Pendulum-v1"}, "rollout_length": 32},
    "ddpg": {
        **COMMON,
        "environment": {"id": "Pendulum-v1"},
        "learning_starts": 16,
        "batch_size": 8,
        "log_every": 16,
        "buffer_size": 200,
    },
    "bc": {
        "total_gradient_steps": 40,
        "log_every": 20,
        "batch_size": 16,
        "demonstrations": {"expert_length": 20},
    },
}


def _config(algorithm: str, function: str = "make", **overrides: Any) -> RunConfig:
    values = {"algorithm": algorithm, "network": f"{HERE}:{function}", **CONFIGS[algorithm]}
    return parse_config(values, overrides=overrides)


def _pair(squash: bool = False) -> tuple[DenseNetwork, OwnNetwork]:
    output: Any = "tanh" if squash else "linear"
    ours = DenseNetwork((3, 5, 2), hidden="tanh", output=output, extra=2, seed=1)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    own = OwnNetwork(module, (3,), extra=2, squash=squash)
    own.parameters.copy_(ours.parameters)
    return ours, own


@pytest.mark.parametrize("squash", [False, True])
def test_passes_slopes_and_tangents_are_those_of_our_networks(squash: bool) -> None:
    ours, own = _pair(squash)
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(7, 3, generator=generator)
    torch.testing.assert_close(own.forward(rows), ours.forward(rows))
    slope = torch.randn(7, 2, generator=generator)
    for column in (0, 1):
        found = own.backward(slope, inputs_from=column)
        torch.testing.assert_close(found, ours.backward(slope, inputs_from=column))
    torch.testing.assert_close(own.gradient, ours.gradient)
    before = own.gradient.clone()
    own.backward(2.0 * slope, parameters=False, inputs_from=0)
    assert torch.equal(own.gradient, before)
    direction = torch.randn(len(own.parameters), generator=generator)
    torch.testing.assert_close(own.tangent(direction), ours.tangent(direction))
    hidden = zip(own.hidden_activations(), ours.hidden_activations(), strict=True)
    for one, other in hidden:
        torch.testing.assert_close(one, other)


def test_a_clone_and_an_exported_module_have_weights_of_their_own() -> None:
    _, own = _pair()
    rows = torch.ones(2, 3)
    before = own.forward(rows).clone()
    twin, module = own.clone(), as_module(own)
    own.parameters.add_(1.0)
    torch.testing.assert_close(twin.forward(rows), before)
    torch.testing.assert_close(module(rows), before)
    assert not torch.equal(own.forward(rows), before)


@pytest.mark.parametrize("algorithm", CONFIGS)
def test_a_run_with_ones_own_network_resumes_exactly_and_can_be_loaded(
    algorithm: str, tmp_path: Path
) -> None:
    every = 32 if algorithm != "bc" else 20
    changes = {"checkpoints.every": every, "checkpoints.keep_best": False}
    config = _config(algorithm).replaced(changes)
    whole = steadyrl.train(config, tmp_path / "whole")
    assert whole.summary.status == "finished"

    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step.index == 2:
            raise Killed

    with pytest.raises(Killed):
        steadyrl.train(config, tmp_path / "cut", observers=Observers(step=kill))
    steadyrl.resume(tmp_path / "cut")
    assert not compare_runs(whole.path, tmp_path / "cut").differences
    policy = whole.policy("last")
    seen = np.zeros((3, *(policy.observation_space.shape or ())), np.float32)
    actions = policy.act(seen)
    assert all(policy.action_space.contains(action) for action in actions)
    done = export_policy(policy, tmp_path / "model", "safetensors")
    assert done.largest_gap <= 1e-5


@pytest.mark.parametrize("algorithm", ["ppo", "ddpg"])
def test_the_same_signals_are_measured(algorithm: str, tmp_path: Path) -> None:
    own = steadyrl.train(_config(algorithm), tmp_path / "own").summary.last_signals
    ours = steadyrl.train(_config(algorithm, network=None), tmp_path / "ours").summary.last_signals
    assert {name for name in ours if not name.startswith("machine.")} == {
        name for name in own if not name.startswith("machine.")
    }


def test_activations_that_are_no_layers_are_no_hindrance(tmp_path: Path) -> None:
    run = steadyrl.train(_config("ddpg", "functional"), tmp_path / "run", guard="act")
    assert run.summary.status == "finished"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("too_many", r"2 rows of \(4,\) became \(2, 3\); they must become \(2, 2\)"),
        ("no_module", "made a list: it must be a function from"),
        ("raising", "failed with RuntimeError: no such backbone"),
        ("without_weights", "it needs weights to train"),
        ("mkae", r"Did you mean '.*:make'"),
    ],
)
def test_a_function_that_does_not_serve_is_told_in_one_sentence(
    function: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=said):
        steadyrl.train(_config("ppo", function), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_network_that_was_changed_since_is_refused() -> None:
    _, own = _pair()
    with pytest.raises(CheckpointError, match="the function that makes it was changed"):
        own.load_state_dict({"parameters": np.zeros(3, np.float32)})
