"""What the executor costs and gains: 8 equal trials one after the other, and on two workers.

Sequential means this one process with one thread and no executor at all. The overhead is what a
trial takes longer in a worker than here, start of the worker included.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path

from common import conclude

from steadyrl.core.presets import load_config
from steadyrl.experiments.executor import LocalExecutor
from steadyrl.experiments.trials import Trial, run_trial

TRIALS = 8


def main() -> None:
    """Alternate both ways, keep the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short trials, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("runs/bench-executor"))
    arguments = parser.parse_args()
    steps, rounds = (1_000, 1) if arguments.quick else (40_000, arguments.rounds)
    ratios, overheads, longest = [], [], []
    for number in range(rounds):
        alone = _seconds(arguments.output / f"alone{number}", steps, workers=1)
        two = _seconds(arguments.output / f"two{number}", steps, workers=2)
        ratios.append(alone / two)
        overheads.append((two - alone / 2) / (TRIALS / 2))
        longest.append(alone / TRIALS)
        if not arguments.json:
            sys.stderr.write(
                f"{alone:.1f} s alone, {two:.1f} s on two workers: {alone / two:.2f}x\n"
            )
    shutil.rmtree(arguments.output, ignore_errors=True)
    conclude(
        "executor",
        {
            "trials": TRIALS,
            "seconds_per_trial_alone": round(statistics.median(longest), 2),
            "speed_up_on_two_workers": {
                "ratio": round(statistics.median(ratios), 3),
                "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
            },
            "overhead_seconds_per_trial": round(statistics.median(overheads), 2),
        },
        keep=not arguments.quick,
    )


def _seconds(folder: Path, steps: int, *, workers: int) -> float:
    shutil.rmtree(folder, ignore_errors=True)
    trials = [
        Trial(
            name=f"seed {seed}",
            config=load_config(
                "ddpg/pendulum",
                {
                    "seed": seed,
                    "total_env_steps": steps,
                    "batch_size": 64,
                    "hidden_sizes": [64, 64],
                },
            ),
            directory=folder / str(seed),
        )
        for seed in range(TRIALS)
    ]
    started = time.perf_counter()
    with closing(LocalExecutor(workers=workers).each(run_trial, trials)) as finished:
        list(finished)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
