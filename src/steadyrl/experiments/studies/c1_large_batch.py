"""C1: does DDPG at batch 4096 collapse where 1024 does not?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.core.presets import load_config
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.study import (
    Conclusion,
    Decided,
    Say,
    Study,
    StudyResult,
    run_all,
    together,
)
from steadyrl.experiments.trials import Outcome, Trial
from steadyrl.maths.statistics import ERROR_RATE, rank_p, share_interval
from steadyrl.store.reader import RunReader

TASKS = {
    "documented task": ("ddpg/stage1", 20_000),
    "Pendulum": ("ddpg/pendulum", 10_000),
}
SIZES = (1024, 4096)
OFTEN, SELDOM = 0.8, 0.2  # collapse rates


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """Both batch sizes on both tasks."""
    trials, of = [], {}
    for task, (preset, budget) in TASKS.items():
        for size in SIZES:
            for seed in range(seeds):
                config = load_config(
                    preset,
                    {
                        "batch_size": size,
                        "learning_starts": size,
                        "seed": 300 + seed,
                        "total_env_steps": budget // (10 if quick else 1),
                        "evaluation.every": 1000,
                        "train_every": 2,
                    },
                )
                name = f"{task}, batch {size}, seed {config.seed}"
                slug = f"{preset.replace('/', '-')}-{size}-seed{config.seed}"
                trials.append(Trial(name=name, config=config, directory=folder / slug))
                of[name] = (task, size)
    outcomes = run_all(trials, executor, say)
    groups: dict[tuple[str, int], list[Outcome]] = {}
    for name, outcome in outcomes.items():
        groups.setdefault(of[name], []).append(outcome)
    collapsed = {key: [not o.healthy for o in group] for key, group in groups.items()}
    verdict, because = decide(collapsed)
    rows = [
        (
            task,
            f"{size:,}",
            f"{sum(collapsed[task, size])} of {len(group)}",
            f"{np.mean([_largest_loss(o) for o in group]):.3g}",
            amount(float(np.mean([o.final_return for o in group]))),
            f"{np.mean([o.final_length for o in group]):,.0f}",
        )
        for (task, size), group in sorted(groups.items())
    ]
    head = ("task", "batch", "collapsed", "largest critic loss", "final return", "final length")
    figures = {f"{task}, {size}": float(np.mean(runs)) for (task, size), runs in collapsed.items()}
    return StudyResult(verdict, because, head, rows, {"collapse_rates": figures})


def decide(collapsed: Mapping[tuple[str, int], Sequence[bool]]) -> tuple[Conclusion, str]:
    """By collapse rates alone; see the study's rule."""
    small, large = SIZES
    tasks = sorted({task for task, _ in collapsed})
    answers = {task: _answer(collapsed[task, large], collapsed[task, small]) for task in tasks}
    said = [
        f"{task}: {sum(collapsed[task, small])} of {len(collapsed[task, small])} runs collapse at "
        f"{small}, {sum(collapsed[task, large])} of {len(collapsed[task, large])} at {large}"
        for task in tasks
    ]
    verdict = together(answers.values())
    opening = {
        "confirmed": f"On every task {large} collapses and {small} does not.",
        "depends on": f"On {', '.join(t for t in tasks if answers[t] == 'yes')} alone.",
        "refuted": "There is no task on which the batch size made the difference.",
        "not decided": "The runs leave it open.",
    }
    return verdict, f"{opening[verdict]} {'; '.join(said)}."


def _answer(large: Sequence[bool], small: Sequence[bool]) -> Decided:
    """Whether the large batch collapses often and the small one seldom."""
    many, few = (share_interval(sum(runs), len(runs)) for runs in (large, small))
    if many.high < OFTEN or few.low > SELDOM:
        return "no"
    apart = rank_p([float(run) for run in large], [float(run) for run in small]) <= ERROR_RATE
    return "yes" if many.value >= OFTEN and few.value <= SELDOM and apart else "open"


def _largest_loss(outcome: Outcome) -> float:
    steps = RunReader.open(outcome.path).steps()
    return max((s.signals["critic.loss"] for s in steps if "critic.loss" in s.signals), default=0.0)


STUDY = Study(
    id="C1",
    claim="DDPG at batch 4096 collapses early where 1024 does not.",
    question="With nothing else changed, does 4096 collapse where 1024 does not?",
    setup="Batch 1024 and 4096 on the documented task (`ddpg/stage1`, 20,000 env steps) and on "
    "Pendulum (`ddpg/pendulum`, 10,000), one update per two env steps, learning from the first "
    "full batch on. A run has collapsed if anything severe was found in it or it did not finish.",
    rule="On a task the answer is yes if at least 80 % of the runs collapse at 4096, at most 20 % "
    "at 1024, and chance would do that in at most 5 % (permuted labels); no if the exact 95 % "
    "interval of either share excludes it; open otherwise. Confirmed if yes on every task, "
    "depends on the task if on some and no on the others, refuted if no on every one, not "
    "decided otherwise.",
    seeds=6,
    run=run,
)
