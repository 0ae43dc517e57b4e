"""C7: does experience replay make PPO more sample-efficient, and more than further epochs would?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.presets import load_config
from steadyrl.core.records import without_nan
from steadyrl.core.traits import RETURN
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.small_language import gap
from steadyrl.experiments.studies.small_language import trial as language_trial
from steadyrl.experiments.studies.study import (
    Conclusion,
    Decided,
    Say,
    Study,
    StudyResult,
    run_all,
    together,
)
from steadyrl.experiments.trials import Trial
from steadyrl.maths.statistics import Estimate, median_interval
from steadyrl.store.reader import RunReader

OFF, STANDARD, EFFICIENT = "no replay", "standard replay", "efficient replay"
PRESETS: Mapping[str, str] = {
    OFF: "replay-off",
    STANDARD: "replay-standard",
    EFFICIENT: "replay-efficient",
    "prioritised replay": "replay-prioritised",
    "conservative replay": "replay-conservative",
}
EPOCHS: Mapping[str, int] = {"2 epochs, no replay": 2, "4 epochs, no replay": 4}
ARMS = (*PRESETS, *EPOCHS)
# Who uses samples about as often: the replay, and its rival that only goes over fresh ones again.
RIVALS: Mapping[str, str] = {STANDARD: "2 epochs, no replay", EFFICIENT: "4 epochs, no replay"}
AXES = ("samples", "gradient samples", "seconds")
TASKS = ("CartPole", "two-digit sums")
MARGINS: Mapping[str, float] = {"CartPole": 10.0, "two-digit sums": 0.02}
TEXT_SAMPLES = 4_800
OF_PRESET = (
    "prompts_per_update",
    "samples_per_prompt",
    "advantage",
    "kl",
    "kl_weight",
    "learning_rate",
    "warm_up",
    "replay",
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The evaluations of a run: scores, and how far it had come by each axis."""

    scores: Floats
    reached: Mapping[str, Floats]
    use: float  # gradient samples per generated sample, at the end

    def mean_until(self, axis: str, limit: float) -> float:
        """The mean score from the first evaluation on, by this axis, until the limit."""
        x = self.reached[axis]
        inside = x <= limit
        ends = np.append(x[inside], limit)
        values = np.append(self.scores[inside], np.interp(limit, x, self.scores))
        length = ends[-1] - ends[0]
        return float(np.trapezoid(values, ends) / length) if length > 0 else float(values[0])


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """Seven arms on two tasks, all with the same number of generated samples."""
    numbers = range(900, 900 + seeds)
    trials = {
        (task, arm, seed): _trial(folder, task, arm, seed, quick=quick)
        for task in TASKS
        for arm in ARMS
        for seed in numbers
    }
    outcomes = run_all(list(trials.values()), executor, say)
    curves = {key: read_curve(outcomes[t.name].path) for key, t in trials.items()}
    means = {
        (task, axis): _means({(a, s): c for (t, a, s), c in curves.items() if t == task}, axis)
        for task in TASKS
        for axis in AXES
    }
    rows, gaps = [], {}
    for task in TASKS:
        for arm in ARMS:
            of = {axis: means[task, axis][arm] for axis in AXES}
            use = float(np.mean([curves[task, arm, seed].use for seed in numbers]))
            rival = RIVALS.get(arm, OFF)
            if arm != OFF:
                for other in dict.fromkeys((OFF, rival)):
                    theirs = means[task, "samples"][other]
                    gaps[task, arm, other] = gap(of["samples"], theirs)
            digits = 3 if MARGINS[task] < 1 else 1
            against = "" if arm == OFF else f"{gaps[task, arm, OFF]:+.{digits}f}"
            rivalry = f"{gaps[task, arm, rival]:+.{digits}f}" if arm in RIVALS else ""
            scores = (f"{median_interval(of[axis]):.{digits}f}" for axis in AXES)
            rows.append((task, arm, f"{use:.1f}x", *scores, against, rivalry))
    head = (
        "task",
        "arm",
        "use of a sample",
        *(f"mean score at equal {axis}, median, 95 %" for axis in AXES),
        "minus no replay, equal samples",
        "minus epochs at equal use",
    )
    verdict, because = decide(gaps)
    figures = {", ".join(key): [g.value, g.low, g.high] for key, g in gaps.items()}
    drawn = [_chart(task, axis, curves, numbers) for task in TASKS for axis in AXES[:2]]
    return StudyResult(verdict, because, head, rows, {"gaps": without_nan(figures)}, curves=drawn)


def decide(gaps: Mapping[tuple[str, str, str], Estimate]) -> tuple[Conclusion, str]:
    """By whether replay is clearly better than no replay, and than as many epochs; see the rule."""
    asked = [(task, arm, other) for task in TASKS for arm in RIVALS for other in (OFF, RIVALS[arm])]
    answers = {key: _better(gaps[key], MARGINS[key[0]]) for key in asked}
    words: Mapping[Decided, str] = {
        "yes": "Clearly better per generated sample",
        "no": "Clearly no better",
        "open": "Open",
    }
    said = {
        answer: [
            f"{task}, {arm} against {other} "
            f"({gaps[task, arm, other]:+.{3 if MARGINS[task] < 1 else 1}f})"
            for (task, arm, other), found in answers.items()
            if found == answer
        ]
        for answer in words
    }
    told = [f"{words[answer]}: {'; '.join(parts)}." for answer, parts in said.items() if parts]
    return together(answers.values()), " ".join(told)


def _chart(
    task: str, axis: str, curves: Mapping[tuple[str, str, int], Curve], seeds: Sequence[int]
) -> dict[str, Any]:
    """Every arm's median over the seeds, evaluation by evaluation."""
    series = []
    for arm in ARMS:
        found = [curves[task, arm, seed] for seed in seeds]
        length = min(len(curve.scores) for curve in found)
        x = np.median([curve.reached[axis][:length] for curve in found], axis=0)
        y = np.median([curve.scores[:length] for curve in found], axis=0)
        series.append({"name": arm, "x": x.tolist(), "y": y.tolist()})
    about = f"median of {len(seeds)} seeds"
    return {"title": f"{task}, score by {axis}", "about": about, "x": axis, "series": series}


def read_curve(path: Path) -> Curve:
    """The evaluations that a run recorded."""
    scores, reached = [], []
    use = 1.0
    for step in RunReader.open(path).steps():
        use = step.signals.get("train.sample_efficiency", use)
        score = step.signals.get(RETURN.signal)
        if score is not None:
            scores.append(score)
            reached.append((step.taken, step.taken * use, step.seconds))
    columns = np.array(reached, dtype=np.float64).reshape(-1, len(AXES)).T
    return Curve(np.array(scores), dict(zip(AXES, columns, strict=True)), use)


def _means(curves: Mapping[tuple[str, int], Curve], axis: str) -> dict[str, list[float]]:
    """Mean scores by arm, a value per seed, until where the shortest of all runs ends."""
    limit = min(float(curve.reached[axis][-1]) for curve in curves.values())
    found: dict[str, list[float]] = {}
    for (arm, _), curve in curves.items():
        found.setdefault(arm, []).append(curve.mean_until(axis, limit))
    return found


def _better(found: Estimate, margin: float) -> Decided:
    if found.low > 0:
        return "yes"
    return "no" if found.high < margin else "open"


def _trial(folder: Path, task: str, arm: str, seed: int, *, quick: bool) -> Trial:
    preset = PRESETS.get(arm, PRESETS[OFF])
    epochs = EPOCHS.get(arm, 1)
    if task == "two-digit sums":
        config = load_config(f"language/{preset}").plain()
        settings: dict[str, Any] = {name: config[name] for name in OF_PRESET} | {"epochs": epochs}
        return language_trial(folder, f"{task} {arm}", seed, TEXT_SAMPLES, settings, quick=quick)
    changes: dict[str, Any] = {"seed": seed, "epochs": epochs}
    if quick:
        changes["total_env_steps"] = 15_360
    slug = arm.replace(" ", "-").replace(",", "")
    return Trial(
        name=f"{task} {arm}, seed {seed}",
        config=load_config(f"ppo/{preset}", changes),
        directory=folder / f"{task.lower()}-{slug}-seed{seed}",
    )


STUDY = Study(
    id="C7",
    claim="Experience replay makes PPO two to four times as sample-efficient.",
    question="Does PPO with replay reach a higher mean score per generated sample than without, "
    "and than PPO that goes over its fresh samples as often instead?",
    setup="The five presets replay-off, -standard, -efficient, -prioritised and -conservative, and "
    "two and four epochs without replay, on CartPole-v1 (76,800 steps) and on two-digit sums by a "
    f"model of 0.1 million parameters after one warm start ({TEXT_SAMPLES:,} completions). The "
    "score is the mean over all evaluations of a run: how high and how early. It is compared at "
    "equal generated samples, at equal samples that gradients went through, and at equal seconds. "
    "Standard replay is the uniform control of prioritised replay: both use a sample as often.",
    rule="For standard and efficient replay, on both tasks, at equal generated samples, against no "
    "replay and against epochs at about equal use: yes if the mean difference by seed is clearly "
    "above 0 (sign flips, 5 %), no if clearly below 10 points of return or 2 of accuracy, open "
    "otherwise. Confirmed if yes eight times, depends on the rival or the task if yes and no, "
    "refuted if no eight times, not decided if anything is open.",
    seeds=6,
    run=run,
)
