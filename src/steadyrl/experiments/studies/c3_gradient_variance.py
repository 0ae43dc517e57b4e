"""C3: does gradient variance fall as 1/N?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steadyrl.core.presets import load_config
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.noise import at_newest_checkpoint, noise_at
from steadyrl.experiments.studies.study import Conclusion, Say, Study, StudyResult, run_all
from steadyrl.experiments.trials import Trial
from steadyrl.maths.noise_scale import variance_ratio

SMALL, LARGE = 64, 512
EXPECTED = LARGE / SMALL


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """Train a little, then measure both sizes under both ways of drawing."""
    trials = []
    for seed in range(seeds):
        steps = 1_500 if quick else 6_000
        config = load_config("ddpg/pendulum", {"seed": 500 + seed, "total_env_steps": steps})
        directory = folder / f"seed{config.seed}"
        trials.append(Trial(name=f"seed {config.seed}", config=config, directory=directory))
    run_all(trials, executor, say)
    draws = 40 if quick else 300
    rows, covered = [], dict[str, list[bool]]()
    ratios = dict[str, list[float]]()
    for trial in trials:
        generator = np.random.default_rng(trial.config.seed)
        with at_newest_checkpoint(trial.directory) as training:
            measured = {
                scheme: [noise_at(training, scheme, n, draws, generator) for n in (SMALL, LARGE)]
                for scheme in training.schemes
            }
        for scheme, (small, large) in measured.items():
            for part, noise in small.items():
                value, low, high = (
                    EXPECTED * figure for figure in variance_ratio(noise, large[part])
                )
                covered.setdefault(scheme, []).append(low <= EXPECTED <= high)
                ratios.setdefault(scheme, []).append(value)
                rows.append(
                    (trial.name, part, _drawn(scheme), f"{value:.2f} ({low:.2f} to {high:.2f})")
                )
    shares = {scheme: float(np.mean(hits)) for scheme, hits in covered.items()}
    means = {scheme: float(np.mean(values)) for scheme, values in ratios.items()}
    verdict, because = decide(shares, means)
    head = ("run", "part", "batches", "variance at 64 over variance at 512 (95 %)")
    return StudyResult(verdict, because, head, rows, {"covered": shares, "mean_ratio": means})


def decide(covered: dict[str, float], means: dict[str, float]) -> tuple[Conclusion, str]:
    """By how often the interval holds 8; see the study's rule."""
    said = "; ".join(
        f"{_drawn(scheme)}: mean ratio {means[scheme]:.2f}, {covered[scheme]:.0%} of the intervals "
        f"hold {EXPECTED:g}"
        for scheme in covered
    )
    held = {scheme: share >= 0.8 for scheme, share in covered.items()}
    if all(held.values()):
        return "confirmed", f"{said}."
    if held["drawn"]:
        return "depends on", f"It holds for independent draws, not for neighbours in time. {said}."
    return "refuted", f"{said}."


def _drawn(scheme: str) -> str:
    return "independent draws" if scheme == "drawn" else "stretches in time"


STUDY = Study(
    id="C3",
    claim="Gradient variance falls as 1/N: batch 512 has an eighth of the variance of batch 64.",
    question="Is the ratio of variances 8, for batches drawn independently and for stretches in "
    "time?",
    setup="`ddpg/pendulum` after 6,000 env steps; 300 gradients of critic and actor at batch 64 "
    "and at 512, drawn from replay as training draws them, and as stretches of consecutive "
    "transitions.",
    rule="Confirmed if at least 80 % of the 95 % intervals of the ratio hold 8 under both ways of "
    "drawing; depends on the drawing if only for independent draws; refuted otherwise.",
    seeds=5,
    run=run,
)
