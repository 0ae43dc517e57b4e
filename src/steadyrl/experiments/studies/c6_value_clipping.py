"""C6: does value clipping halve the error of the values?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.final import final_mean
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.small_language import SETUP, gap, trial
from steadyrl.experiments.studies.study import Conclusion, Say, Study, StudyResult, run_all
from steadyrl.experiments.trials import Outcome
from steadyrl.maths.statistics import Estimate, median_interval
from steadyrl.store.reader import RunReader

SAMPLES = 6_144
ERROR = "language.value_error"
PLAIN, CLAIMED = "no clipping, weight 0.5", "clipping 0.2, weight 1"
ARMS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {"value_clip": None, "value_weight": 0.5},
    "clipping 0.2, weight 0.5": {"value_clip": 0.2, "value_weight": 0.5},
    "no clipping, weight 1": {"value_clip": None, "value_weight": 1.0},
    CLAIMED: {"value_clip": 0.2, "value_weight": 1.0},
}
COMMON: Mapping[str, Any] = {
    "advantage": "gae",
    "prompts_per_update": 256,
    "samples_per_prompt": 1,
    "minibatch_size": 128,
    "kl": "reward",
    "kl_weight": 0.02,
}
HALF = 0.6  # of the error: generous to "halves"


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """With and without clipping, at two weights."""
    trials = {
        (arm, seed): trial(folder, arm, seed, SAMPLES, {**COMMON, **settings}, quick=quick)
        for arm, settings in ARMS.items()
        for seed in range(740, 740 + seeds)
    }
    outcomes = run_all(list(trials.values()), executor, say)
    groups = {arm: [outcomes[t.name] for (a, _), t in trials.items() if a == arm] for arm in ARMS}
    errors = {arm: [value_error(o) for o in group] for arm, group in groups.items()}
    logs = {arm: np.log(found).tolist() for arm, found in errors.items()}
    ratios = {arm: _exponential(gap(logs[arm], logs[PLAIN])) for arm in ARMS if arm != PLAIN}
    rows = [
        (
            arm,
            f"{median_interval(errors[arm]):.3f}",
            "" if arm == PLAIN else f"{ratios[arm]:.2f}",
            f"{median_interval([o.final_return for o in groups[arm]]):.3f}",
        )
        for arm in ARMS
    ]
    head = ("arm", "median error of the values, 95 %", "over the first", "held-out score, 95 %")
    verdict, because = decide(ratios[CLAIMED])
    figures = {arm: [r.value, r.low, r.high] for arm, r in ratios.items()}
    return StudyResult(verdict, because, head, rows, {"ratios": figures})


def value_error(outcome: Outcome) -> float:
    """Root mean square error on fresh completions, over the last tenth of the run."""
    steps = RunReader.open(outcome.path).steps()
    return final_mean([step.signals[ERROR] for step in steps if ERROR in step.signals])


def decide(ratio: Estimate) -> tuple[Conclusion, str]:
    """By the ratio of errors; see the study's rule."""
    said = f"With clipping and weight 1 the error is {ratio:.2f} of that without, at weight 0.5."
    if ratio.high < HALF:
        return "confirmed", said
    return ("refuted" if ratio.low > HALF else "not decided"), said


def _exponential(found: Estimate) -> Estimate:
    return Estimate(math.exp(found.value), math.exp(found.low), math.exp(found.high))


STUDY = Study(
    id="C6",
    claim="Value clipping (with weight 1.0) halves the error of the values: RMSE 0.25 to 0.12.",
    question="Is the error of the value head on fresh completions half as large with clipping?",
    setup=f"{SETUP} PPO with a value head, 256 prompts, two epochs of minibatches of 128, "
    f"{SAMPLES:,} samples; the error is that of the values before each update against the returns, "
    "mean of the last tenth of the updates.",
    rule="The ratio of errors by seed (sign flips on its logarithm, 95 %): confirmed if it is "
    f"clearly below {HALF:g}, which is generous to a half; refuted if clearly above, not decided "
    "otherwise.",
    seeds=6,
    run=run,
)
