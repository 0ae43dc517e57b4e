"""What the studies of language models share: a small model after its warm start, and comparisons.

All runs of a study begin from one and the same model of 0.1 million parameters, as people begin
from one base model; seeds differ in the problems that are drawn and the completions sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.presets import parse_config
from steadyrl.experiments.trials import Trial
from steadyrl.experiments.warm_model import warm_model
from steadyrl.maths.statistics import Estimate, SignFlips

PROBLEMS: Mapping[str, Any] = {
    "name": "addition",
    "digits": 2,
    "reverse": True,
    "max_new_tokens": 5,
}
MADE: Mapping[str, Any] = {
    "algorithm": "language",
    "problems": PROBLEMS,
    "model": {"layers": 2, "width": 64, "heads": 2},
    "warm_start": {"enabled": True, "low": 0.2, "high": 0.4},
    "advantage": "group",
}
SETUP = (
    "A model of 0.1 million parameters (two layers, width 64) adds two-digit numbers, answers last "
    "digit first, after a warm start to 20 to 40 % right samples; the learning rate rises over "
    "five updates; held-out score of 400 problems, most likely tokens, mean of the last tenth of "
    "the evaluations."
)


def trial(
    folder: Path, arm: str, seed: int, samples: int, settings: Mapping[str, Any], *, quick: bool
) -> Trial:
    """One run of an arm from the model that all share."""
    model = warm_model(MADE, folder / "base-model")
    shorter = 8 if quick else 1
    plain = {
        "algorithm": "language",
        "problems": PROBLEMS,
        "model": {"path": str(model)},
        "total_samples": max(samples // shorter, 512),
        "evaluation": {"every": max(samples // shorter // 20, 128), "episodes": 400},
        "checkpoints": {"every": samples, "keep": 1},
        "learning_rate": 3e-4,
        "warm_up": 5,
        "epochs": 2,
        "seed": seed,
        **settings,
    }
    slug = "".join(c if c.isalnum() or c in ".-" else "-" for c in arm)
    return Trial(
        name=f"{arm}, seed {seed}",
        config=parse_config(plain),
        directory=folder / f"{slug}-seed{seed}",
    )


def gap(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Mean difference, paired by seed, and what sign flips cannot tell it from (95 %)."""
    return SignFlips((len(ours),)).interval(np.array(ours) - np.array(theirs))
