"""Trials on a simulated Ray cluster of two nodes end exactly as they do on local processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.core.errors import ConfigError
from steadyrl.experiments.executor import LocalExecutor, RayExecutor
from steadyrl.experiments.trials import Trial, run_trial, run_trials
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Guarding

Make = Callable[..., DDPGConfig]

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, not ours

ray: Any = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    try:
        yield cluster.address
    finally:
        ray.shutdown()
        cluster.shutdown()


def die_after_the_first_checkpoint(trial: Trial) -> None:
    """Once per trial directory the worker is killed right after it saved something."""
    original = Guarding.checkpoint

    def checkpoint(self: Any) -> None:
        original(self)
        marker = trial.directory / "killed"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    Guarding.checkpoint = checkpoint  # type: ignore[method-assign]
    try:
        run_trial(trial)
    finally:
        Guarding.checkpoint = original  # type: ignore[method-assign]


def _trials(config: DDPGConfig, folder: Path) -> list[Trial]:
    return [
        Trial(
            name=f"seed {seed}",
            config=config.replaced({"seed": seed}),
            directory=folder / str(seed),
        )
        for seed in range(2)
    ]


def test_a_cluster_with_dying_workers_gives_the_local_results(
    address: str, small_config: Make, tmp_path: Path
) -> None:
    config = small_config()
    local, remote = _trials(config, tmp_path / "local"), _trials(config, tmp_path / "remote")
    list(run_trials(local, LocalExecutor(workers=2)))
    done = list(RayExecutor(address=address).each(die_after_the_first_checkpoint, remote))
    assert len(done) == len(remote)
    for ours, theirs in zip(local, remote, strict=True):
        assert (theirs.directory / "killed").exists()
        assert not compare_runs(ours.directory, theirs.directory).differences


def test_a_cluster_that_is_reached_from_outside_is_called_where_it_was_reached() -> None:
    inside = "10.0.0.7:6379"  # its own address for its head, which may mean nothing elsewhere
    assert (
        RayExecutor(address="ray://cluster.example:10001")._head(inside) == "cluster.example:10001"
    )
    assert RayExecutor(address="10.0.0.7:6379")._head(inside) == inside
    assert RayExecutor()._head(inside) == inside


def test_no_cluster_at_an_address_is_said_plainly() -> None:
    with pytest.raises(ConfigError, match="no Ray cluster answers there"):
        list(RayExecutor(address="127.0.0.1:1").each(str, ["a"]))
