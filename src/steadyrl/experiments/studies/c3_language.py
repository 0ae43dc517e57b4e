"""C3 on a language model: does gradient variance fall as 1/N when completions are sampled?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steadyrl.experiments.executor import Executor
from steadyrl.experiments.noise import at_newest_checkpoint, noise_at
from steadyrl.experiments.studies.small_language import SETUP, trial
from steadyrl.experiments.studies.study import Conclusion, Say, Study, StudyResult, run_all
from steadyrl.maths.noise_scale import variance_ratio

SMALL, LARGE = 64, 512
EXPECTED = LARGE / SMALL


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """Train a little, then measure both sizes on fresh completions."""
    settings = {
        "advantage": "group",
        "prompts_per_update": 32,
        "samples_per_prompt": 8,
        "minibatch_size": 128,
    }
    trials = [
        trial(folder, "grpo", seed, 2_048, settings, quick=quick)
        for seed in range(760, 760 + seeds)
    ]
    run_all(trials, executor, say)
    draws, rows, covered, ratios = 20 if quick else 100, [], [], []
    for made in trials:
        generator = np.random.default_rng(made.config.seed)
        with at_newest_checkpoint(made.directory) as training:
            small, large = (
                noise_at(training, "drawn", size, draws, generator)["policy"]
                for size in (SMALL, LARGE)
            )
        value, low, high = (EXPECTED * figure for figure in variance_ratio(small, large))
        covered.append(low <= EXPECTED <= high)
        ratios.append(value)
        rows.append((made.name, f"{value:.2f} ({low:.2f} to {high:.2f})"))
        say(f"  {made.name}: {rows[-1][1]}")
    verdict, because = decide(covered, ratios)
    head = ("run", "variance at 64 over variance at 512 (95 %)")
    figures = {"covered": float(np.mean(covered)), "mean_ratio": float(np.mean(ratios))}
    return StudyResult(verdict, because, head, rows, figures)


def decide(covered: list[bool], ratios: list[float]) -> tuple[Conclusion, str]:
    """By how often the interval holds 8; see the study's rule."""
    share = float(np.mean(covered))
    said = f"Mean ratio {np.mean(ratios):.2f}, {share:.0%} of the intervals hold {EXPECTED:g}."
    return ("confirmed" if share >= 0.8 else "refuted"), said


STUDY = Study(
    id="C3L",
    claim="Gradient variance falls as 1/N: batch 512 has an eighth of the variance of batch 64.",
    question="Is the ratio of variances 8 for gradients of fresh completions, drawn prompt by "
    "prompt with their eight samples together?",
    setup=f"{SETUP} GRPO for 2,048 samples; then 100 gradients of 8 prompts (64 completions) and "
    "100 of 64 prompts (512 completions), each of fresh completions.",
    rule="Confirmed if at least 80 % of the 95 % intervals of the ratio hold 8, refuted otherwise.",
    seeds=6,
    run=run,
)
