"""One action at a time: `load_policy(...).act` against Stable-Baselines3's `predict`.

The same networks in both (two layers), observations one by one, rounds interleaved, medians.

    python benchmarks/acting.py [--rounds 5] [--calls 2000]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from common import conclude
from stable_baselines3 import DDPG, PPO

import steadyrl

CASES: dict[str, tuple[Any, str, list[int], dict[str, Any]]] = {
    "ppo": (PPO, "CartPole-v1", [64, 64], {"rollout_length": 32, "minibatch_size": 16}),
    "ddpg": (
        DDPG,
        "Pendulum-v1",
        [256, 256],
        {"learning_starts": 16, "batch_size": 16, "log_every": 32, "buffer_size": 100},
    ),
}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round; keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line, as always here")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rounds, calls = (1, 200) if arguments.quick else (arguments.rounds, arguments.calls)
    found = {name: _case(name, rounds, calls) for name in CASES}
    full = rounds >= 5 and calls >= 2000
    conclude("acting", {"rounds": rounds, "microseconds": found}, keep=full)


def _case(name: str, rounds: int, calls: int) -> dict[str, Any]:
    kind, environment, sizes, settings = CASES[name]
    values = {"algorithm": name, "total_env_steps": 32, "environment": {"id": environment}}
    common = {"hidden_sizes": sizes, "evaluation": {"episodes": 0}}
    with tempfile.TemporaryDirectory() as folder:
        run = steadyrl.train({**values, **common, **settings}, Path(folder) / "run")
        policy = run.policy("last")
    theirs = kind("MlpPolicy", environment, policy_kwargs={"net_arch": sizes})
    env = gymnasium.make(environment)
    env.observation_space.seed(0)
    seen = np.stack([env.observation_space.sample() for _ in range(calls)])
    ours_times, theirs_times = [], []
    for _ in range(rounds):
        ours_times.append(_seconds(policy.act, seen) / calls * 1e6)
        theirs_times.append(
            _seconds(lambda one: theirs.predict(one, deterministic=True), seen) / calls * 1e6
        )
    ratios = [b / a for a, b in zip(ours_times, theirs_times, strict=True)]
    return {
        "ours": round(statistics.median(ours_times), 1),
        "sb3": round(statistics.median(theirs_times), 1),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
    }


def _seconds(act: Any, seen: Any) -> float:
    began = time.perf_counter()
    for one in seen:
        act(one)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
