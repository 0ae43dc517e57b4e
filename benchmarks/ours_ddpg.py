"""Our DDPG on the same work as peers/sb3_ddpg.py; prints one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
import time

import steadyrl
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import load_config


def main() -> None:
    """Measure speed after a warm-up, or evaluations while learning."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=300)
    parser.add_argument("--learning-starts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--twin-critics", action="store_true")
    parser.add_argument("--policy-delay", type=int, default=1)
    parser.add_argument("--target-noise", type=float, default=0.0)
    parser.add_argument("--uncompiled", action="store_true", help="as where there is no compiler")
    arguments = parser.parse_args()
    config = load_config(
        "ddpg/pendulum",
        {
            "batch_size": arguments.batch_size,
            "total_env_steps": arguments.steps,
            "learning_starts": arguments.learning_starts,
            "log_every": 100,
            "seed": arguments.seed,
            "compute.precision": arguments.precision,
            "compiled": not arguments.uncompiled,
            "twin_critics": arguments.twin_critics,
            "policy_delay": arguments.policy_delay,
            "target_noise_std": arguments.target_noise,
            "evaluation.episodes": 10 if arguments.evaluate_every else 0,
            "evaluation.every": arguments.evaluate_every or 1,
        },
    )
    started, returns = 0.0, []
    for step in prepare(config).steps:
        if step.taken == arguments.warm_up:
            started = time.perf_counter()
        if "eval.return_mean" in step.signals:
            returns.append(step.signals["eval.return_mean"])
    seconds = time.perf_counter() - started
    result = {
        "steps_per_second": (arguments.steps - arguments.warm_up) / seconds,
        "returns": returns,
        "versions": {"steadyrl": steadyrl.__version__},
    }
    sys.stdout.write(json.dumps(result) + "\n")


main()
