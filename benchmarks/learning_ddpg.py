"""Return on Pendulum-v1 over seeds: ours and Stable-Baselines3's DDPG, same settings and steps.

Two runs at once, on a core each, so the speed seen here means nothing; see speed_ddpg.py.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import PEER_PYTHON, conclude, paired, require_peers, run_json, two_at_a_time

HERE = Path(__file__).resolve().parent
LAST = 10  # evaluations that count


def main() -> None:
    """Run all seeds of both, then compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 seeds, 4000 steps")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    require_peers()
    seeds, steps = (2, 4000) if arguments.quick else (arguments.seeds, arguments.steps)
    every = steps // 20
    flags = ("--steps", steps, "--evaluate-every", every, "--learning-starts", 1000)
    sides = {
        "ours": partial(run_json, sys.executable, HERE / "ours_ddpg.py"),
        "sb3": partial(run_json, PEER_PYTHON, HERE / "peers" / "sb3_ddpg.py"),
    }
    runs = [(name, seed) for seed in range(seeds) for name in sides]
    results = two_at_a_time(partial(sides[name], "--seed", seed, *flags) for name, seed in runs)
    scores: dict[str, list[float]] = {name: [] for name in sides}
    versions: dict[str, Any] = {}
    for (name, seed), result in zip(runs, results, strict=True):
        scores[name].append(float(np.mean(result["returns"][-LAST:])))
        versions |= result["versions"]
        if not arguments.json:
            sys.stdout.write(f"seed {seed} {name}: {scores[name][-1]:.1f}\n")
    conclude(
        "learning_ddpg",
        {
            "environment": "Pendulum-v1",
            "steps": steps,
            "score": f"mean return of the last {LAST} of 20 evaluations of 10 episodes",
            **paired(scores["ours"], scores["sb3"]),
            "versions": versions,
        },
        keep=not arguments.quick,
    )


main()
