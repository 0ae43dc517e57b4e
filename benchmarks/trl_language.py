"""The same GRPO updates by TRL's trainer, timed; JSON on the last line.

Dropout, KL and gradient checkpointing are off and the loss is a mean over tokens, as on our side;
checkpointing would make it slower still.
"""

from __future__ import annotations

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
from language_work import arguments, prompts, variety


def main() -> None:
    """Train for some updates without logging or saving."""
    chosen = arguments(__doc__)
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

    batch = chosen.groups * chosen.samples
    with tempfile.TemporaryDirectory() as scratch:
        trainer = GRPOTrainer(
            model=str(chosen.model),
            reward_funcs=reward,
            train_dataset=Dataset.from_dict({"prompt": prompts(500, shots=chosen.shots)}),
            args=GRPOConfig(
                scratch,
                max_steps=chosen.updates,
                per_device_train_batch_size=chosen.micro_batch,
                gradient_accumulation_steps=batch // chosen.micro_batch,
                num_generations=chosen.samples,
                max_completion_length=chosen.tokens,
                learning_rate=chosen.rate,
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
