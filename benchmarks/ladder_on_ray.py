"""The same ladder on local processes and on a Ray cluster of two nodes whose workers get killed.

Needs the extra 'ray'. The cluster is simulated on this machine (ray.cluster_utils). While it
climbs, a worker is killed with SIGKILL in the middle of a trial. Every signal, array and counter of
every run must equal the local ones.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from common import conclude

from steadyrl.core.presets import load_config
from steadyrl.experiments.executor import LocalExecutor, RayExecutor
from steadyrl.experiments.gates import load_gates
from steadyrl.experiments.ladder import Ladder, climb
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.store.paths import resolve

SIZES = (128, 256, 512, 1024, 2048, 4096)


def main() -> None:
    """Climb twice and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rungs, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("runs/bench-ladder"))
    arguments = parser.parse_args()
    sizes = SIZES[:2] if arguments.quick else SIZES
    steps = 4_000 if arguments.quick else 20_000

    def say(line: str) -> None:
        if not arguments.json:
            sys.stderr.write(line + "\n")

    started = time.perf_counter()
    local = _climb(arguments.output / "local", sizes, steps, LocalExecutor(workers=2), say)
    local_seconds = time.perf_counter() - started
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    killer = _Killer(arguments.kills, say)
    killer.start()
    started = time.perf_counter()
    try:
        executor = RayExecutor(address=cluster.address)
        remote = _climb(arguments.output / "ray", sizes, steps, executor, say)
    finally:
        killer.over.set()
        cluster.shutdown()
    ray_seconds = time.perf_counter() - started
    different = [
        theirs
        for ours, theirs in zip(_runs(local), _runs(remote), strict=True)
        if compare_runs(
            resolve(arguments.output / "local", ours), resolve(arguments.output / "ray", theirs)
        ).differences
    ]
    conclude(
        "ladder_on_ray",
        {
            "rungs": len(sizes),
            "runs": len(_runs(local)),
            "local_seconds": round(local_seconds, 1),
            "ray_seconds": round(ray_seconds, 1),
            "nodes": 2,
            "workers_killed": killer.killed,
            "runs_that_differ": different,
            "same_decisions": [r.decision for r in local.rungs]
            == [r.decision for r in remote.rungs],
        },
        keep=not arguments.quick,
    )


def _climb(folder: Path, sizes: Any, steps: int, executor: Any, say: Any) -> Ladder:
    config = load_config("ddpg/stage1", {"total_env_steps": steps})
    return climb(
        config,
        sizes,
        load_gates("relative"),
        folder,
        name="ddpg/stage1",
        gates_name="relative",
        seeds=3,
        every_rung=True,
        executor=executor,
        say=say,
    )


def _runs(ladder: Ladder) -> list[str]:
    return sorted(run for rung in ladder.rungs for run in rung.runs)


class _Killer(threading.Thread):
    """Kills a Ray worker that is busy with one of our tasks, now and then."""

    def __init__(self, kills: int, say: Any) -> None:
        super().__init__(daemon=True)
        self.over, self.killed, self._kills, self._say = threading.Event(), 0, kills, say

    def run(self) -> None:
        while self.killed < self._kills and not self.over.wait(15.0):
            busy = _busy_workers()
            if busy:
                os.kill(busy[0], signal.SIGKILL)
                self.killed += 1
                self._say(f"killed the Ray worker {busy[0]} in the middle of its trial")


def _busy_workers() -> list[int]:
    """Processes that Ray names after the task they are at."""
    import psutil

    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if "ray::_work_quietly" in " ".join(process.info["cmdline"] or ())
    ]


if __name__ == "__main__":
    main()
