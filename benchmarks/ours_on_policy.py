"""Our PPO or TRPO on the same work as peers/sb3_on_policy.py; prints one JSON object."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

import steadyrl
from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.on_policy import trpo
from steadyrl.core.presets import parse_config


def product_flop(_sum: Sequence[int], left: Sequence[int], right: Sequence[int], **_: Any) -> int:
    """Of left @ right."""
    return 2 * left[0] * left[1] * right[1]


def layer_flop(below: Any, weight: Any, *_: Any, **__: Any) -> int:
    """Of a layer by oneDNN; shapes are given."""
    return int(2 * below[0] * below[1] * weight[0])


# Products that torch's own counter does not count.
NOT_KNOWN: dict[Any, Callable[..., int]] = dict.fromkeys(
    (torch.ops.aten.addmm_, torch.ops.aten._addmm_activation), product_flop
)
if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
    NOT_KNOWN[torch.ops.mkldnn._linear_pointwise] = layer_flop


class Stopwatch:
    """A function, and how long all its calls took."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.seconds = function, 0.0

    def __call__(self, *given: Any) -> Any:
        """Call it."""
        started = time.perf_counter()
        found = self._function(*given)
        self.seconds += time.perf_counter() - started
        return found


def main() -> None:
    """Measure speed after the first update, or evaluations while learning."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=["ppo", "trpo"], default="ppo")
    parser.add_argument("--task", default="CartPole-v1")
    parser.add_argument("--settings", default="{}", help="JSON: settings of the config")
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluate-every", type=int, default=0)
    parser.add_argument("--first-update", action="store_true", help="the first update counts too")
    parser.add_argument("--environment", default="{}", help="JSON: the environment's settings")
    parser.add_argument("--count", action="store_true", help="floating-point operations, no speed")
    arguments = parser.parse_args()
    config = parse_config(
        {
            "algorithm": arguments.algorithm,
            "seed": arguments.seed,
            "total_env_steps": arguments.steps,
            "environment": {
                "id": arguments.task,
                "count": arguments.copies,
                "settings": json.loads(arguments.environment),
            },
            "evaluation": {
                "every": arguments.evaluate_every or 1,
                "episodes": 10 if arguments.evaluate_every else 0,
            },
            **json.loads(arguments.settings),
        }
    )
    training = prepare(config)
    if arguments.count:
        with FlopCounterMode(display=False, custom_mapping=NOT_KNOWN) as counter:
            deque(training.steps, maxlen=0)
        sys.stdout.write(json.dumps({"teraflop": counter.get_total_flops() / 1e12}) + "\n")
        return
    returns, critic = [], Stopwatch(trpo.fit_critic)
    trpo.fit_critic = critic
    marks = [(0, time.perf_counter())] if arguments.first_update else []
    for step in training.steps:
        marks.append((step.taken, time.perf_counter()))
        if "eval.return_mean" in step.signals:
            returns.append(step.signals["eval.return_mean"])
    first, last = marks[0], marks[-1]
    result = {
        "steps_per_second": (last[0] - first[0]) / (last[1] - first[1]),
        "returns": returns,
        "critic_share": critic.seconds / (last[1] - first[1]),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": {"steadyrl": steadyrl.__version__},
    }
    sys.stdout.write(json.dumps(result) + "\n")


main()
