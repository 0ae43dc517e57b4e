"""GRPO updates of a language model by our trainer, timed; JSON on the last line."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from language_work import arguments, write_problems

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import parse_config


def main() -> None:
    """Train for some updates without evaluations or checkpoints."""
    chosen = arguments(__doc__)
    batch = chosen.groups * chosen.samples
    with tempfile.TemporaryDirectory() as scratch:
        problems = Path(scratch) / "problems.jsonl"
        write_problems(problems, 500, shots=chosen.shots)
        config = parse_config(
            {
                "algorithm": "language",
                "total_samples": batch * chosen.updates,
                "model": {"path": str(chosen.model)},
                "problems": {
                    "name": "jsonl",
                    "path": str(problems),
                    "scorer": "language_work:variety",
                    "max_new_tokens": chosen.tokens,
                },
                "prompts_per_update": chosen.groups,
                "samples_per_prompt": chosen.samples,
                "advantage": "group",
                "epochs": 1,
                "micro_batch_size": chosen.micro_batch,
                "learning_rate": chosen.rate,
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
