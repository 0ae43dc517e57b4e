"""C4: does a large batch with fixed hyperparameters beat small batches with dynamic ones?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steadyrl.core.records import without_nan
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.small_language import SETUP, gap, trial
from steadyrl.experiments.studies.study import (
    Conclusion,
    Decided,
    Say,
    Study,
    StudyResult,
    run_all,
    together,
)
from steadyrl.maths.statistics import Estimate, median_interval

SAMPLES, LARGE, SMALL = 12_288, 512, 128
UPDATES = SAMPLES // LARGE
COMMON: Mapping[str, Any] = {
    "advantage": "gae",
    "samples_per_prompt": 1,
    "minibatch_size": None,
    "entropy_weight": 0.01,
    "value_weight": 0.5,
    "kl": "reward",
    "kl_weight": 0.05,
}
FIXED = "fixed, batch 512"
DYNAMIC: Mapping[str, Mapping[str, Any]] = {
    "falling learning rate, batch 128": {"learning_rate_schedule": "linear"},
    "steered KL weight, batch 128": {"kl_target": 0.02},
}
MARGIN = 0.02  # a gain below two points of accuracy is none
EQUAL = {"equal samples": SAMPLES, "equal updates": UPDATES * SMALL}


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """The fixed recipe once, the dynamic ones with as many samples and with as many updates."""
    arms: dict[tuple[str, str], tuple[int, Mapping[str, Any]]] = {
        (FIXED, "both"): (SAMPLES, {**COMMON, "prompts_per_update": LARGE}),
        **{
            (name, equal): (samples, {**COMMON, **settings, "prompts_per_update": SMALL})
            for name, settings in DYNAMIC.items()
            for equal, samples in EQUAL.items()
        },
    }
    trials = {
        (arm, seed): trial(folder, ", ".join(arm), seed, samples, settings, quick=quick)
        for arm, (samples, settings) in arms.items()
        for seed in range(700, 700 + seeds)
    }
    outcomes = run_all(list(trials.values()), executor, say)
    scores = {
        arm: [outcomes[t.name].final_return for (a, _), t in trials.items() if a == arm]
        for arm in arms
    }
    fixed = scores[FIXED, "both"]
    gaps = {arm: gap(fixed, found) for arm, found in scores.items() if arm[0] != FIXED}
    rows = [
        (
            name,
            equal,
            f"{arms[name, equal][0]:,}",
            f"{median_interval(found):.3f}",
            "" if name == FIXED else f"{gaps[name, equal]:+.3f}",
        )
        for (name, equal), found in scores.items()
    ]
    head = ("arm", "compared at", "samples", "median held-out score, 95 %", "fixed minus this")
    verdict, because = decide(gaps)
    figures = {", ".join(arm): [g.value, g.low, g.high] for arm, g in gaps.items()}
    return StudyResult(verdict, because, head, rows, {"gaps": without_nan(figures)})


def decide(gaps: Mapping[tuple[str, str], Estimate]) -> tuple[Conclusion, str]:
    """By whether the fixed recipe is clearly better; see the study's rule."""
    answers = {arm: _better(found) for arm, found in gaps.items()}
    words = {"yes": "clearly better than", "no": "not better than", "open": "perhaps better than"}
    said = "; ".join(
        f"at {equal} {words[answers[name, equal]]} {name} ({found:+.3f})"
        for (name, equal), found in gaps.items()
    )
    return together(answers.values()), f"The fixed recipe with the large batch is {said}."


def _better(found: Estimate) -> Decided:
    if found.low > 0:
        return "yes"
    return "no" if found.high < MARGIN else "open"


STUDY = Study(
    id="C4",
    claim="A large batch with fixed hyperparameters beats a small batch with dynamic ones.",
    question="Does PPO with batch 512 and everything fixed end with a higher held-out score than "
    "with batch 128 and a falling learning rate, or batch 128 and a steered KL weight?",
    setup=f"{SETUP} PPO with a value head, two epochs, learning rate 3e-4, entropy weight 0.01, KL "
    f"weight 0.05. The small batches get as many samples as the large one ({SAMPLES:,}), and as "
    f"many updates ({UPDATES}).",
    rule="Against each dynamic arm, at equal samples and at equal updates: yes if the mean "
    "difference by seed is clearly above 0 (sign flips, 5 %), no if clearly below two points, "
    "open otherwise. Confirmed if yes four times, depends on what is held equal if yes and no, "
    "refuted if no four times, not decided if anything is open.",
    seeds=6,
    run=run,
)
