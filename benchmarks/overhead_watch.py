"""What watching costs: the share of a run's time that is spent in the monitor.

Measured inside one run: pairs of runs with and without the monitor differ by more than a tenth on a
shared machine for reasons of their own, which hides a cost of a thousandth (docs/log.md).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import conclude

from steadyrl.core.presets import load_config
from steadyrl.run import train
from steadyrl.stability.monitor import Monitor


def main() -> None:
    """Median share over several runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 run, fewer steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    runs, steps = (1, 1500) if arguments.quick else (arguments.runs, 4000)
    found = [_measure(steps) for _ in range(runs)]
    if not arguments.json:
        sys.stdout.write(f"{found}\n")
    shares = [share for share, _ in found]
    result = {
        "share_of_run_time": {
            "cost": statistics.median(shares),
            "cost_range": [min(shares), max(shares)],
        },
        "microseconds_per_step": statistics.median(cost for _, cost in found),
        "runs": runs,
        "environment": "Pendulum-v1, batch 64, a Step every 200 environment steps",
    }
    conclude("overhead_watch", result, keep=not arguments.quick)


def _measure(taken: int) -> tuple[float, float]:
    """(share of the run's time, microseconds per Step) spent in Monitor.observe."""
    spent: list[float] = []
    observe = Monitor.observe

    def timed(self: Monitor, step: Any) -> Any:
        started = time.perf_counter()
        findings = observe(self, step)
        spent.append(time.perf_counter() - started)
        return findings

    config = load_config("ddpg/pendulum", {"total_env_steps": taken, "batch_size": 64})
    Monitor.observe = timed  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            train(config, Path(folder) / "run")
            total = time.perf_counter() - started
    finally:
        Monitor.observe = observe  # type: ignore[method-assign]
    return sum(spent) / total, 1e6 * sum(spent) / len(spent)


if __name__ == "__main__":
    main()
