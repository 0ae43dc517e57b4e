"""C2: what drives the documented collapse?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.numbers import amount
from steadyrl.core.presets import load_config
from steadyrl.experiments.executor import Executor
from steadyrl.experiments.studies.study import Conclusion, Decided, Say, Study, StudyResult, run_all
from steadyrl.experiments.trials import Outcome, Trial
from steadyrl.maths.statistics import ERROR_RATE, rank_p, share_interval

CONTROL = "nothing"
FACTORS: Mapping[str, Mapping[str, Any]] = {
    CONTROL: {},
    "batch 64": {"batch_size": 64},
    "batch 1024": {"batch_size": 1024, "learning_starts": 1024},
    "buffer share: buffer 5,000": {"buffer_size": 5000},
    "tau 0.05": {"tau": 0.05},
    "tau 0.001": {"tau": 0.001},
    "learning rate 3e-4": {"learning_rate": 3e-4},
    "reward scale 0.001": {"reward_scale": 0.001},
    "gradient clip 1": {"gradient_clip": 1.0},
    "termination costs 75 steps": {
        "environment.settings.termination_penalty": 75.0,
        "reward_scale": 0.001,
    },
}
DOCUMENTED = ("batch 64", "batch 1024", "buffer share: buffer 5,000")
HEALED = 10.0  # times the control's episode length
OFTEN = 0.8


def run(folder: Path, seeds: int, quick: bool, executor: Executor, say: Say) -> StudyResult:
    """One factor at a time, from the documented config at batch 256."""
    trials, of = [], {}
    for number, (factor, changes) in enumerate(FACTORS.items()):
        for seed in range(seeds):
            config = load_config(
                "ddpg/stage1",
                {
                    "batch_size": 256,
                    "learning_starts": 256,
                    "seed": 400 + seed,
                    "total_env_steps": 2_000 if quick else 20_000,
                    "evaluation.every": 1000,
                    **changes,
                },
            )
            name = f"{factor}, seed {config.seed}"
            directory = folder / f"factor{number}-seed{config.seed}"
            trials.append(Trial(name=name, config=config, directory=directory))
            of[name] = factor
    groups: dict[str, list[Outcome]] = {factor: [] for factor in FACTORS}
    for name, outcome in run_all(trials, executor, say).items():
        groups[of[name]].append(outcome)
    normal = float(np.mean([outcome.final_length for outcome in groups[CONTROL]]))
    healed = {
        factor: [o.final_length >= HEALED * normal for o in group]
        for factor, group in groups.items()
    }
    verdict, because = decide(healed)
    rows = [
        (
            factor,
            f"{np.mean([o.final_length for o in group]):,.0f}",
            amount(float(np.mean([o.reward_per_step for o in group]))),
            f"{sum(not o.healthy for o in group)} of {len(group)}",
            f"{sum(healed[factor])} of {len(group)}",
        )
        for factor, group in groups.items()
    ]
    head = ("changed", "final length", "reward per step", "severe findings", "healed")
    shares = {factor: float(np.mean(runs)) for factor, runs in healed.items()}
    return StudyResult(verdict, because, head, rows, {"healed": shares})


def decide(healed: Mapping[str, Sequence[bool]]) -> tuple[Conclusion, str]:
    """Which factors heal; see the study's rule."""
    changed = [factor for factor in healed if factor != CONTROL]
    answers = {factor: _heals(healed[factor], healed[CONTROL]) for factor in changed}
    drivers = [factor for factor in changed if answers[factor] == "yes"]
    others = [factor for factor in drivers if factor not in DOCUMENTED]
    unsure = [factor for factor in changed if answers[factor] == "open"]
    said = (
        f"Alone, these heal it: {', '.join(drivers)}." if drivers else "No factor alone heals it."
    )
    if unsure:
        said += f" Open: {', '.join(unsure)}."
    if all(answers[factor] == "no" for factor in DOCUMENTED):
        return "refuted", f"Neither batch nor buffer share drives the collapse. {said}"
    if unsure:
        return "not decided", said
    return ("depends on" if others else "confirmed"), said


def _heals(runs: Sequence[bool], control: Sequence[bool]) -> Decided:
    """Whether a change heals in most runs, and chance is no explanation."""
    share = share_interval(sum(runs), len(runs))
    if share.high < OFTEN:
        return "no"
    apart = rank_p([float(run) for run in runs], [float(run) for run in control]) <= ERROR_RATE
    return "yes" if share.value >= OFTEN and apart else "open"


STUDY = Study(
    id="C2",
    claim="Batch size and the share of the buffer it draws drive the collapse.",
    question="Which single change removes the collapse: batch, buffer share, tau, learning rate, "
    "reward scale, clipping, or the price of terminating?",
    setup="`ddpg/stage1` at batch 256 for 20,000 env steps, one change at a time. The last change "
    "makes termination cost as much as 75 steps (with rewards scaled by 0.001, which alone is an "
    "arm of its own).",
    rule="A change heals if in at least 80 % of its runs final episodes last ten times as long as "
    "the unchanged control's, and chance would do that in at most 5 % (permuted labels); it "
    "does not if the exact 95 % interval of that share lies below 80 %; otherwise it is open. "
    "Confirmed if only batch or buffer changes heal, refuted if none of them does, depends on "
    "if both kinds do, not decided if an open one could change that.",
    seeds=6,
    run=run,
)
