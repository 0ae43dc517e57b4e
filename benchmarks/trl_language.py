"""The same GRPO updates by TRL's trainer, timed; JSON on the last line.

Dropout, KL and gradient checkpointing are off and the loss is a mean over tokens, as on our side;
checkpointing would make it slower still.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch
from language_work import prompts, variety


def main() -> None:
    """Train for some updates without logging or saving."""
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
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    times: list[float] = []
    lengths: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        """Seconds from the end of one update to the end of the next."""

        last = 0.0

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.last = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            now = time.perf_counter()
            times.append(now - self.last)
            self.last = now

    def reward(completions: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        lengths.append(sum(map(len, completion_ids)) / len(completion_ids))
        return [variety(completion) for completion in completions]

    batch = arguments.groups * arguments.samples
    with tempfile.TemporaryDirectory() as scratch:
        trainer = GRPOTrainer(
            model=str(arguments.model),
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": prompts(500, shots=arguments.shots)}),
            args=GRPOConfig(
                scratch,
                max_steps=arguments.updates,
                per_device_train_batch_size=arguments.micro_batch,
                gradient_accumulation_steps=batch // arguments.micro_batch,
                num_generations=arguments.samples,
                max_completion_length=arguments.tokens,
                learning_rate=arguments.rate,
                lr_scheduler_type="constant",
                beta=0.0,
                loss_type="dapo",
                gradient_checkpointing=False,
                bf16=False,
                use_cpu=True,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            ),
            callbacks=[Clock()],
        )
        trainer.train()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({"seconds": times, "tokens": lengths, "peak_bytes": peak}) + "\n")


if __name__ == "__main__":
    main()
