"""GRPO updates of a language model by our trainer, timed; JSON on the last line."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from language_work import write_problems

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import parse_config


def main() -> None:
    """Train for some updates without evaluations or checkpoints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shots", action="store_true")
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-5)
    arguments = parser.parse_args()
    batch = arguments.groups * arguments.samples
    with tempfile.TemporaryDirectory() as scratch:
        problems = Path(scratch) / "problems.jsonl"
        write_problems(problems, 500, shots=arguments.shots)
        config = parse_config(
            {
                "algorithm": "language",
                "total_samples": batch * arguments.updates,
                "model": {"path": str(arguments.model)},
                "problems": {
                    "name": "jsonl",
                    "path": str(problems),
                    "scorer": "language_work:variety",
                    "max_new_tokens": arguments.tokens,
                },
                "prompts_per_update": arguments.groups,
                "samples_per_prompt": arguments.samples,
                "advantage": "group",
                "epochs": 1,
                "micro_batch_size": arguments.micro_batch,
                "learning_rate": arguments.rate,
                "evaluation": {"every": 10**9, "episodes": 1},
                "compute": {"threads": 2},
            }
        )
        training = prepare(config)
        times, tokens, last = [], [], time.perf_counter()
        for step in training.steps:
            now = time.perf_counter()
            times.append(now - last)
            tokens.append(step.signals["language.tokens"] / batch)
            last = now
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({"seconds": times, "tokens": tokens, "peak_bytes": peak}) + "\n")


if __name__ == "__main__":
    main()
