"""Return on Pendulum-v1 over seeds: ours and Stable-Baselines3's DDPG, same settings and steps.

Both run at once on a core each, so the speed seen here means nothing; see speed_ddpg.py.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from common import PEER_PYTHON, conclude, paired, require_peers, run_json

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
    scores: dict[str, list[float]] = {"ours": [], "sb3": []}
    versions: dict[str, Any] = {}
    for seed in range(seeds):
        flags = ("--seed", seed, "--steps", steps, "--evaluate-every", every)
        flags += ("--learning-starts", 1000)
        with ThreadPoolExecutor(2) as pool:
            ours = pool.submit(run_json, sys.executable, HERE / "ours_ddpg.py", *flags)
            sb3 = pool.submit(run_json, PEER_PYTHON, HERE / "peers" / "sb3_ddpg.py", *flags)
            results = {"ours": ours.result(), "sb3": sb3.result()}
        for name, result in results.items():
            scores[name].append(float(np.mean(result["returns"][-LAST:])))
            versions |= result["versions"]
            if not arguments.json:
                sys.stdout.write(f"seed {seed} {name}: {scores[name][-1]:.1f}\n")
                sys.stdout.flush()
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
