"""What the Stable-Baselines3 callback costs: the same training with and without it, interleaved.

CPU seconds on one thread, so that other work on the machine disturbs little; who goes first changes
from round to round, because a processor is not as fast after a minute's work as before.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from common import conclude
from stable_baselines3 import DDPG, PPO, SAC

from steadyrl.integrations.sb3 import SteadyCallback

WORK: dict[str, tuple[Any, str, int, dict[str, Any]]] = {
    "ppo": (PPO, "CartPole-v1", 8_192, {}),
    "ddpg": (DDPG, "Pendulum-v1", 1_000, {}),
    "sac": (SAC, "Pendulum-v1", 800, {}),
}


def seconds(kind: str, folder: Path | None) -> float:
    """One training, with the callback's defaults or without."""
    algorithm, environment, steps, settings = WORK[kind]
    model = algorithm("MlpPolicy", environment, seed=0, **settings)
    callback = SteadyCallback(folder / "run", say=lambda _: None) if folder else None
    start = time.process_time()
    model.learn(steps, callback=callback)
    return time.process_time() - start


def main() -> None:
    """Interleave, compare, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = {}
    for kind in WORK:
        ratios = []
        for number in range(1 if arguments.quick else arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                both = {None: 0.0, Path(folder): 0.0}
                for where in sorted(both, key=bool, reverse=number % 2 == 1):
                    both[where] = seconds(kind, where)
                alone, watched = both.values()
            ratios.append(watched / alone)
            if not arguments.json:
                line = f"{kind} round {number + 1}: {alone:.1f} s, watched {watched:.1f} s"
                sys.stderr.write(line + "\n")
        results[kind] = {
            "cost": statistics.median(ratios),
            "cost_range": [min(ratios), max(ratios)],
        }
    conclude("overhead_callback", {"watched_over_alone": results}, keep=not arguments.quick)


if __name__ == "__main__":
    main()
