"""C5: is a gradient norm of 1 the sweet spot of clipping?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

SAMPLES = 6_144
NORMS: tuple[float | None, ...] = (None, 2.0, 1.0, 0.5)
RATES: Mapping[str, float] = {"usual rate": 1e-4, "rate that is too high": 1e-3}
MARGIN = 0.02  # a gain below two points of accuracy is none
COMMON: Mapping[str, Any] = {
    "advantage": "group",
    "prompts_per_update": 32,
    "samples_per_prompt": 8,
    "minibatch_size": 128,
}


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """Four norms at two learning rates."""
    arms = [(rate, norm) for rate in RATES for norm in NORMS]
    trials = {
        (rate, norm, seed): trial(
            folder,
            f"{rate}, norm {norm}",
            seed,
            SAMPLES,
            {**COMMON, "learning_rate": RATES[rate], "gradient_clip": norm},
            quick=quick,
        )
        for rate, norm in arms
        for seed in range(720, 720 + seeds)
    }
    outcomes = run_all(list(trials.values()), executor, say)
    groups = {
        arm: [outcomes[t.name] for (r, n, _), t in trials.items() if (r, n) == arm] for arm in arms
    }
    scores = {arm: [o.final_return for o in group] for arm, group in groups.items()}
    rows = [
        (
            rate,
            _called(norm),
            f"{median_interval(scores[rate, norm]):.3f}",
            f"{sum(not o.healthy for o in groups[rate, norm])} of {seeds}",
            "" if norm == 1.0 else f"{gap(scores[rate, 1.0], scores[rate, norm]):+.3f}",
        )
        for rate, norm in arms
    ]
    head = ("learning rate", "norm", "median held-out score, 95 %", "severe findings", "1 minus it")
    gaps = {
        rate: {norm: gap(scores[rate, 1.0], scores[rate, norm]) for norm in NORMS if norm != 1.0}
        for rate in RATES
    }
    verdict, because = decide(gaps)
    figures = {
        f"{rate}, 1 minus {_called(norm)}": [g.value, g.low, g.high]
        for rate, found in gaps.items()
        for norm, g in found.items()
    }
    return StudyResult(verdict, because, head, rows, {"gaps": without_nan(figures)})


def decide(gaps: Mapping[str, Mapping[float | None, Estimate]]) -> tuple[Conclusion, str]:
    """By whether a norm of 1 is clearly better than none, and not beaten; see the rule."""
    answers = {rate: _answer(found[None], list(found.values())) for rate, found in gaps.items()}
    said = "; ".join(
        f"{rate}: 1 against none {found[None]:+.3f}, against 2 {found[2.0]:+.3f}, against 0.5 "
        f"{found[0.5]:+.3f}"
        for rate, found in gaps.items()
    )
    return together(answers.values()), f"Differences in held-out score at the {said}."


def _answer(against_none: Estimate, against_all: Sequence[Estimate]) -> Decided:
    if any(found.high < 0 for found in against_all) or against_none.high < MARGIN:
        return "no"
    return "yes" if against_none.low > 0 else "open"


def _called(norm: float | None) -> str:
    return "none" if norm is None else f"{norm:g}"


STUDY = Study(
    id="C5",
    claim="A clip norm of 1.0 is the sweet spot: 35 % of the runs collapse without clipping.",
    question="Does clipping the gradient at a norm of 1 end with a higher held-out score than no "
    "clipping, and is it not beaten by 2 or 0.5?",
    setup=f"{SETUP} GRPO, 32 prompts of 8 samples, two epochs of minibatches of 128, AdamW, "
    f"{SAMPLES:,} samples; at a learning rate of 1e-4, at which it learns, and at one that is too "
    "high (1e-3).",
    rule="At each rate: yes if a norm of 1 is clearly better than none (mean difference by seed, "
    "sign flips, 5 %) and clearly worse than no other norm; no if another is clearly better or the "
    "gain over none is clearly below two points; open otherwise. Confirmed if yes at both, depends "
    "on the rate if yes and no, refuted if no at both, not decided otherwise.",
    seeds=6,
    run=run,
)
