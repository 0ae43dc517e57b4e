"""The learning curves of recorded Breakout runs, kept under results/ for docs/breakout.md.

steadyrl train trpo/v2-breakout --name v2
steadyrl train ppo/breakout --seed 1 --name ppo-1
python benchmarks/breakout_curves.py runs/v2 runs/ppo-1

Curves that were kept before stay, but for runs of the same name.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from common import ROOT, conclude

from steadyrl.store.reader import RunReader

SIGNALS = (
    "rollout.return_mean",
    "eval.return_mean",
    "policy.entropy_share",
    "policy.kl",
    "trpo.line_search_success",
    "trpo.step_fraction",
    "trpo.entropy_pull",
    "setting.max_kl",
)
KEPT = ROOT / "benchmarks" / "results" / "breakout_curves.json"
POINTS = 60  # of each run, evaluations always


def main() -> None:
    """Read and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--quick", action="store_true", help="keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    curves: dict[str, Any] = {}
    if KEPT.exists():
        curves = json.loads(KEPT.read_text("utf-8"))["runs"]
    for run in arguments.runs:
        store = RunReader.open(run)
        curves[run.name] = curve(store)
        if not arguments.json:
            sys.stderr.write(f"{run}: {len(curves[run.name]['points'])} points\n")
    conclude("breakout_curves", {"runs": curves}, keep=not arguments.quick)


def curve(store: RunReader) -> dict[str, Any]:
    """A run's settings that matter here, and its signals at a few hundred Steps."""
    steps = list(store.steps())
    every = max(1, len(steps) // POINTS)
    chosen = [
        step
        for number, step in enumerate(steps, 1)
        if number % every == 0 or "eval.return_mean" in step.signals or step is steps[-1]
    ]
    points = [
        {
            "taken": step.taken,
            "seconds": round(step.seconds, 1),
            **{name: round(step.signals[name], 4) for name in SIGNALS if name in step.signals},
        }
        for step in chosen
    ]
    config = store.config
    return {
        "environment": config.environment.id,
        "threads": config.compute.threads,
        "seed": config.seed,
        "points": points,
    }


if __name__ == "__main__":
    main()
