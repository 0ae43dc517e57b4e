"""Is the gradient of a language run the same for every split into micro-batches, and processes?

The presets' models with random weights, and one large batch of their problems, scored by how many
different characters a completion has. Measured before the first optimiser step, where all ratios
are 1, and after three, where they are not and some are clipped. Differences are lengths of the
difference over the length of the gradient of one process in one piece.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from common import PAIRS, conclude, in_two_processes
from numpy.typing import NDArray

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.language.learner import LanguageLearner
from steadyrl.algorithms.language.ppo import descend, estimate, sample
from steadyrl.core.launch import launched
from steadyrl.core.presets import load_config
from steadyrl.experiments.language_preflight import gradient_in_parts

PRESETS = {"PPO": "language/tiny", "GRPO": "language/tiny-grpo"}
SPLITS = (1, 2, 4, 8)
STEPS = 3
BAR = 1e-5


def main() -> None:
    """Both presets in one process, then in two, with all weights in each and with shards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small batch, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # one of two processes
    arguments = parser.parse_args()
    size = 64 if arguments.quick else 512
    if arguments.into is not None:
        found = dict(_gradients(size, splits=(1,)))
        if not launched().follows:
            np.savez(arguments.into, **found)
        return
    alone = dict(_gradients(size, splits=SPLITS))
    together = {kind: _in_two_processes(kind, quick=arguments.quick) for kind in PAIRS}
    records = {}
    for name in PRESETS:
        for moment in ("before", "after"):
            whole = alone[f"{name} {moment} 1"]
            others = {f"{k} splits": alone[f"{name} {moment} {k}"] for k in SPLITS[1:]}
            others |= {kind: found[f"{name} {moment} 1"] for kind, found in together.items()}
            records[f"{name}, {moment} {STEPS} optimiser steps"] = {
                other: float(np.linalg.norm(gradient - whole) / np.linalg.norm(whole))
                for other, gradient in others.items()
            }
    if not arguments.json:
        for case, differences in records.items():
            listed = "  ".join(f"{other} {apart:.1e}" for other, apart in differences.items())
            sys.stderr.write(f"{case}: {listed}\n")
    largest = max(apart for record in records.values() for apart in record.values())
    result = {"completions": size, "largest": largest, "bar": BAR, "differences": records}
    conclude("gradient_invariance", result, keep=not arguments.quick)
    sys.exit(int(largest >= BAR))


def _gradients(size: int, splits: tuple[int, ...]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for name, preset in PRESETS.items():
        config = load_config(preset)
        config = config.replaced(
            {
                "prompts_per_update": size // config.value_of("samples_per_prompt"),
                "minibatch_size": None,
                "micro_batch_size": None,
                "learning_rate": 3e-3,  # so that three steps lead somewhere
            }
        )
        training = prepare(config)
        learner, now = training.learner, training.live.now
        assert isinstance(learner, LanguageLearner)
        completions, scores = sample(learner, now)
        characters = [float(len(set(text))) for text in completions.text]
        batch, _ = estimate(learner, completions, torch.tensor(characters).to(scores), now)
        for moment in ("before", "after"):
            for split in splits:
                gradient = gradient_in_parts(learner, batch, now, split)
                yield f"{name} {moment} {split}", gradient.numpy()
            for _ in range(STEPS if moment == "before" else 0):
                descend(learner, batch, slice(0, len(batch)), now, now.learning_rate)


def _in_two_processes(kind: str, *, quick: bool) -> dict[str, NDArray[np.float32]]:
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "gradients.npz"
        in_two_processes(kind, __file__, "--into", into, *(["--quick"] if quick else []))
        with np.load(into) as found:
            return dict(found)


if __name__ == "__main__":
    main()
