"""C9: does version 2 of the documented TRPO beat version 1?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.presets import load_config
from steadyrl.core.records import without_nan
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.study import Found, Say, Study, Verdict, run_all
from steadyrl.experiments.trials import Outcome, Trial
from steadyrl.maths.statistics import Estimate, SignFlips, median_interval

# task -> its settings beyond the presets', and the budget
TASKS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "CartPole-v1, 100k steps": ({}, 98_304),
    "CartPole-v1, 400k steps": ({}, 393_216),
    "Acrobot-v1, 200k steps": ({"environment.id": "Acrobot-v1"}, 196_608),
}
VERSIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "version 1": ("trpo/v1-cartpole", {}),
    "version 2": ("trpo/v2-cartpole", {}),
    "version 2, 2,048 samples per update": ("trpo/v2-cartpole", {"rollout_length": 256}),
}


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> Found:
    """Both versions, and version 2 with version 1's samples per update, at equal env steps."""
    trials, of = [], {}
    for at, (task, (settings, budget)) in enumerate(TASKS.items()):
        for number, (version, (preset, changes)) in enumerate(VERSIONS.items()):
            for seed in range(900, 900 + seeds):
                chosen = {
                    **settings,
                    **changes,
                    "seed": seed,
                    "total_env_steps": budget // 10 if quick else budget,
                    "evaluation.every": budget // 12,
                }
                name = f"{task}: {version}, seed {seed}"
                directory = folder / f"task{at}-version{number}-seed{seed}"
                config = load_config(preset, chosen)
                trials.append(Trial(name=name, config=config, directory=directory))
                of[name] = (task, version)
    groups: dict[tuple[str, str], list[Outcome]] = {}
    outcomes = run_all(trials, executor, say)
    for name, arm in of.items():  # by seed, so that differences are paired
        groups.setdefault(arm, []).append(outcomes[name])
    rows, gaps = [], {}
    for task, (_, budget) in TASKS.items():
        scores = {v: [o.final_return for o in groups[task, v]] for v in VERSIONS}
        first, second, small = scores.values()
        gaps[task] = _gap(second, first)
        samples = dict(zip(VERSIONS, ("2,048", "32,768", "2,048"), strict=True))
        for version, found in scores.items():
            each = int(samples[version].replace(",", ""))
            rows.append(
                (
                    task,
                    version,
                    f"{budget // each:,} of {samples[version]}",
                    f"{median_interval(found):,.1f}",
                )
            )
        gap = _gap(small, first)
        gaps[f"{task}, equal samples per update"] = gap
    verdict, because = decide({task: gaps[task] for task in TASKS})
    head = ("task", "version", "updates", "median of final returns, 95 % interval")
    said = "; ".join(f"{task}: {gap:+,.1f}" for task, gap in gaps.items())
    notes = (
        "Version 2 minus version 1, mean of the differences by seed and what sign flips cannot "
        f"tell it from (95 %): {said}.",
    )
    figures = {task: [gap.value, gap.low, gap.high] for task, gap in gaps.items()}
    return Found(verdict, because, head, rows, {"gaps": without_nan(figures)}, notes)


def _gap(ours: list[float], theirs: list[float]) -> Estimate:
    """Mean difference, paired by seed, with its interval."""
    return SignFlips((len(ours),)).interval(np.array(ours) - np.array(theirs))


def decide(gaps: Mapping[str, Estimate]) -> tuple[Verdict, str]:
    """Where version 2 is better; see the study's rule."""
    better = [task for task, gap in gaps.items() if gap.low > 0]
    worse = [task for task, gap in gaps.items() if gap.high < 0]
    said = []
    if better:
        said.append(f"Version 2 is better on {'; '.join(better)}.")
    if worse:
        said.append(f"Version 2 is worse on {'; '.join(worse)}.")
    if len(better) == len(gaps):
        return "confirmed", said[0]
    if better:
        return "depends on", " ".join(said)
    opening = "At equal env steps version 2 is better nowhere."
    return ("refuted" if worse else "not decided"), " ".join([opening, *said])


STUDY = Study(
    id="C9",
    claim="Version 2 of the documented TRPO beats version 1.",
    question="At equal env steps, does version 2 (eight copies, 32,768 samples per update, a wider "
    "trust region, more entropy, normalised rewards) end with a higher return than version 1?",
    setup="Both presets on CartPole-v1 (98,304 and 393,216 env steps) and Acrobot-v1 (196,608), "
    "and version 2 with version 1's 2,048 samples per update, to tell its settings from its batch. "
    "Breakout has a page of its own: no machine here plays the documents' ten million steps.",
    rule="Version 2 is better (worse) on a task if the 95 % interval of the paired difference in "
    "final return, by sign flips, lies above (below) 0. Confirmed if better on every task, "
    "depends on if on some, refuted if on none and worse on one at least, not decided "
    "otherwise.",
    seeds=6,
    run=run,
)
