"""Train DDPG on Pendulum from Python, watch it, and read the run back.

python examples/train_ddpg.py [RUN_DIRECTORY] [ENV_STEPS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import steadyrl
from steadyrl.core.records import Step
from steadyrl.run import Observers
from steadyrl.store.run_directory import RunDirectory


def show(step: Step) -> None:
    """Print every evaluation as it happens."""
    if "eval.return_mean" in step.signals:
        print(f"{step.taken:>7,} env steps  return {step.signals['eval.return_mean']:8.1f}")


def main(directory: Path, taken: int) -> None:
    """One run, then the largest Q-value ratio it recorded."""
    config = steadyrl.load_config("ddpg/pendulum", {"total_env_steps": taken, "seed": 1})
    summary, path = steadyrl.train(config, directory, observers=Observers(step=show))
    ratios = [step.signals.get("q.bound_ratio", 0.0) for step in RunDirectory.open(path).steps()]
    print(f"{summary.status}: largest |Q| over its bound was {max(ratios):.2f}")


if __name__ == "__main__":
    given = dict(enumerate(sys.argv[1:]))
    main(Path(given.get(0, "runs/example")), int(given.get(1, "5000")))
