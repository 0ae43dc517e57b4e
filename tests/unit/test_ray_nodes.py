"""Nodes of a simulated Ray cluster that are killed, and a head that begins anew: slow.

What comes out in the end is, bit for bit, what local processes make.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.experiments.executor import HERE, Item, RayExecutor
from steadyrl.experiments.rescue import rescue
from steadyrl.experiments.trials import Trial, run_trial, run_trials
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Guarding
from tests.unit.small_language import small_config as small_language

Make = Callable[..., DDPGConfig]

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's warnings, not ours

ray: Any = pytest.importorskip("ray")

SICK = {"tau": 0.0}  # a target that never follows: found out at once, so there is much to try


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that takes no work, and two nodes that do."""
    from ray.cluster_utils import Cluster

    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        made.add_node(num_cpus=1)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def stall_once(trial: Trial, folder: Path) -> None:
    """Whichever trial first comes to its second checkpoint stays there, and says on which node."""
    original, word = Guarding.checkpoint, folder / "stalled"

    def checkpoint(self: Any) -> None:
        original(self)
        try:
            descriptor = os.open(word, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            return
        os.write(descriptor, ray.get_runtime_context().get_node_id().encode())
        os.close(descriptor)
        signal.pause()

    Guarding.checkpoint = checkpoint  # type: ignore[method-assign]
    try:
        run_trial(trial)
    finally:
        Guarding.checkpoint = original  # type: ignore[method-assign]


@dataclass(frozen=True)
class LosesANode:
    """A Ray executor; the node on which a trial stalls is killed: the other must do all."""

    cluster: Any
    folder: Path
    workers: int = 2

    def each(self, work: Callable[[Item], object], items: Sequence[Item]) -> Generator[Item]:
        assert work is run_trial
        killer = threading.Thread(target=self._kill, daemon=True)
        killer.start()
        stalling: Any = partial(stall_once, folder=self.folder)
        yield from RayExecutor(address=self.cluster.address).each(stalling, items)
        killer.join()

    def _kill(self) -> None:
        word, waiting = self.folder / "stalled", threading.Event()
        while not (word.exists() and word.read_text()):
            waiting.wait(0.1)
        for node in list(self.cluster.worker_nodes):
            if node.node_id == word.read_text():
                self.cluster.remove_node(node, allow_graceful=False)
                (self.folder / "killed").touch()


def _assert_same(local: Path, remote: Path) -> None:
    """Every run of the first is in the second, with the same bits."""
    runs = sorted(file.parent for file in local.rglob("summary.json"))
    assert runs
    for run in runs:
        assert not compare_runs(run, remote / run.relative_to(local)).differences


def test_a_node_killed_during_a_rescue_changes_nothing(
    cluster: Any, small_config: Make, tmp_path: Path
) -> None:
    local, remote = tmp_path / "local", tmp_path / "remote"
    ours = rescue(small_config(**SICK), local, seeds=3, executor=HERE)
    theirs = rescue(small_config(**SICK), remote, seeds=3, executor=LosesANode(cluster, tmp_path))
    assert (tmp_path / "killed").exists()
    assert ours.to_json() == theirs.to_json()
    assert json.loads((local / "rescue.json").read_text())["tried"]
    _assert_same(local, remote)


def test_a_node_killed_during_trials_of_a_language_model_changes_nothing(
    cluster: Any, tmp_path: Path
) -> None:
    def trials(name: str) -> list[Trial]:
        configs = [small_language(seed=seed) for seed in range(2)]
        folder = tmp_path / name
        return [
            Trial(name=f"seed {c.seed}", config=c, directory=folder / str(c.seed)) for c in configs
        ]

    ours = {one.name: one.final_return for one in run_trials(trials("local"), HERE)}
    loses = LosesANode(cluster, tmp_path)
    theirs = {one.name: one.final_return for one in run_trials(trials("remote"), loses)}
    assert (tmp_path / "killed").exists()
    assert ours == theirs
    _assert_same(tmp_path / "local", tmp_path / "remote")


def test_a_head_that_ends_is_told_and_a_second_start_on_a_new_one_goes_on(
    cluster: Any, small_config: Make, tmp_path: Path
) -> None:
    from ray.cluster_utils import Cluster

    file, remote = tmp_path / "sick.yaml", tmp_path / "remote"
    file.write_text(small_config(**SICK).to_yaml(), encoding="utf-8")
    rescue(small_config(**SICK), tmp_path / "local", seeds=3, executor=HERE)
    command = [sys.executable, "-m", "steadyrl", "rescue", str(file), "--output", str(remote)]
    command += ["--seeds", "3", "--backend", "ray", "--address"]
    first = [*command, cluster.address]
    with subprocess.Popen(first, stderr=subprocess.PIPE, text=True) as driver:
        waiting = threading.Event()
        while not list(remote.glob("try-*/checkpoints/step-*")):
            assert driver.poll() is None
            waiting.wait(0.05)
        cluster.shutdown()
        _, said = driver.communicate(timeout=600)
    assert driver.returncode == 1, said
    assert "no longer answers" in said
    assert not (remote / "rescue.json").exists()
    again: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    log = tmp_path / "second.log"  # not a pipe, which Ray's processes might hold open
    try:
        with log.open("w") as told:
            second = [*command, again.address]
            done = subprocess.run(second, stdout=told, stderr=told, check=False)
    finally:
        again.shutdown()
    assert done.returncode in (0, 1), log.read_text()  # 1: nothing was verified
    stories = [json.loads((tmp_path / n / "rescue.json").read_text()) for n in ("local", "remote")]
    assert stories[0] == stories[1]
    _assert_same(tmp_path / "local", remote)
