"""Every environment that is opened is closed, also when something goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.ddpg import ddpg
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentFault,
    SteadyError,
    StoreError,
    TrainingDiverged,
)
from steadyrl.core.presets import parse_config
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.environments.envs import Envs
from steadyrl.environments.evaluate import evaluate
from steadyrl.experience.demonstration_files import write_npz
from steadyrl.experience.demonstrations import made
from steadyrl.experiments.noise import measure_noise
from steadyrl.experiments.preflight import preflight
from steadyrl.experiments.reenactment import reenact
from steadyrl.guarding import Observers
from steadyrl.run import fork, resume, train
from steadyrl.store.reader import RunReader
from tests.conftest import Countdown

Make = Callable[..., DDPGConfig]
STANDING: list[Counted] = []  # opened and not closed
OPENED: list[Counted] = []


class Counted(Countdown):
    """Remembers whether it was closed; goes wrong where it is told to."""

    def __init__(self, fail: str = "", **settings: Any) -> None:
        if fail == "making the second" and STANDING:
            raise gymnasium.error.Error("no more of these")
        super().__init__(**settings)
        self._fail = fail
        if fail == "space":
            self.observation_space = gymnasium.spaces.Graph(
                node_space=gymnasium.spaces.Discrete(2), edge_space=None
            )
        STANDING.append(self)
        OPENED.append(self)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        seen, info = super().reset(**options)
        return (np.full(2, np.nan), info) if self._fail == "reset" else (seen, info)

    def close(self) -> None:
        STANDING.remove(self)  # fails if it is closed twice


gymnasium.register("test/Counted-v0", entry_point=lambda **settings: Counted(**settings))


@pytest.fixture(autouse=True)
def _all_closed() -> Iterator[None]:
    STANDING.clear()
    OPENED.clear()
    yield
    assert OPENED, "the test opened none"
    assert STANDING == []


@pytest.fixture
def config(small_config: Make) -> Make:
    def make(**overrides: Any) -> DDPGConfig:
        return small_config(
            **{"environment__id": "test/Counted-v0", "total_env_steps": 120, **overrides}
        )

    return make


class Stopped(Exception):
    pass


def _stop(_: Any) -> None:
    raise Stopped


def test_training_evaluating_resuming_and_forking(config: Make, tmp_path: Path) -> None:
    train(config(environment__count=2), tmp_path / "run")
    resume(tmp_path / "run", overrides={"total_env_steps": 160})
    (newest, *_) = RunReader.open(tmp_path / "run").checkpoints.load_latest()
    fork(tmp_path / "run", newest, {"total_env_steps": 200}, tmp_path / "fork")
    assert len(OPENED) > 3 * 2


@pytest.mark.parametrize("fail", ["space", "reset", "making the second"])
def test_environments_that_cannot_be_used(fail: str) -> None:
    bad = EnvironmentConfig(id="test/Counted-v0", count=2, settings={"fail": fail})
    with pytest.raises(EnvironmentFault):
        Envs(bad, seed=0)


def test_a_trainer_that_cannot_be_prepared(config: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> None:
        raise EnvironmentFault("not for me")

    monkeypatch.setattr("steadyrl.algorithms.ddpg.learner.continuous_actions", refuse)
    with pytest.raises(EnvironmentFault, match="not for me"):
        prepare(config())


def test_a_run_that_cannot_begin(config: Make, tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    with pytest.raises(StoreError, match="there is a run here already"):
        train(config(), tmp_path / "run")
    (newest, *_) = RunReader.open(tmp_path / "run").checkpoints.load_latest()
    with pytest.raises(StoreError, match="there is a run here already"):
        fork(tmp_path / "run", newest, {}, tmp_path / "run")


def test_a_run_that_cannot_be_resumed(config: Make, tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    with pytest.raises(CheckpointError, match="a resumed run keeps its settings"):
        resume(tmp_path / "run", overrides={"tau": 0.5})


def test_a_run_that_is_broken_off(config: Make, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train(config(), tmp_path / "run", observers=Observers(step=_stop))


def test_a_run_that_diverges(config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any) -> dict[str, float]:
        raise TrainingDiverged("gone")

    monkeypatch.setattr(ddpg, "update", diverge)
    with pytest.raises(TrainingDiverged, match="gone"):
        train(config(), tmp_path / "run")


def test_a_run_whose_record_cannot_be_ended(
    config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("steadyrl.store.writer.RunWriter.write_summary", full)
    with pytest.raises(StoreError, match="the disk is full"):
        train(config(), tmp_path / "run")


def test_an_evaluation_and_one_that_fails(config: Make) -> None:
    def policy(seen: Any) -> Any:
        return np.zeros((len(seen), 1))

    how = {"episodes": 2, "seed": 0, "index": 1}
    evaluate(policy, config().environment, **how, gamma=0.9)
    with pytest.raises(Stopped):
        evaluate(_stop, config().environment, **how, gamma=0.9)  # type: ignore[arg-type]


def test_a_preflight_and_one_that_finds_a_fault(config: Make) -> None:
    assert "P001" not in [concern.rule for concern in preflight(config())]
    poisoned = config(environment__settings={"poison_at": 3})
    assert "P001" in [concern.rule for concern in preflight(poisoned)]


def test_measuring_noise_and_having_nothing_to_measure(config: Make, tmp_path: Path) -> None:
    train(config(), tmp_path / "run")
    measure_noise(tmp_path / "run", [16, 32], micro_batches=8, draws=8)
    with pytest.raises(Stopped):
        measure_noise(tmp_path / "run", [16], micro_batches=8, draws=8, say=_stop)
    with pytest.raises(Stopped):
        train(config(log_every=1), tmp_path / "begun", observers=Observers(step=_stop))
    with pytest.raises(SteadyError, match="nothing has been experienced"):
        measure_noise(tmp_path / "begun", [16], micro_batches=8, draws=8)


@pytest.mark.parametrize("inputs", [2, 3])
def test_a_clone_that_is_played_again(tmp_path: Path, inputs: int) -> None:
    generator = np.random.default_rng(0)
    data = made(generator.normal(size=(20, inputs)), generator.normal(size=(20, 1)), [0], "test")
    write_npz(data, tmp_path / "data.npz")
    config = parse_config(
        {
            "algorithm": "bc",
            "total_gradient_steps": 20,
            "hidden_sizes": [8],
            "environment": {"id": "test/Counted-v0"},
            "demonstrations": {"path": str(tmp_path / "data.npz")},
        }
    )
    assert isinstance(config, BCConfig)
    train(config, tmp_path / "run")
    if inputs == 2:
        assert reenact(tmp_path / "run", seeds=[0]).trajectories == 1
        return
    with pytest.raises(ConfigError, match="shows 2 numbers"):
        reenact(tmp_path / "run", seeds=[0])


def test_a_clone_that_is_tried_where_it_was_not_recorded(tmp_path: Path) -> None:
    values = {"algorithm": "bc", "environment": {"id": "test/Counted-v0"}}
    values |= {"demonstrations": {"expert_length": 20}, "evaluation": {"episodes": 1}}
    with pytest.raises(ConfigError, match="shows 2 numbers"):
        prepare(parse_config(values))
