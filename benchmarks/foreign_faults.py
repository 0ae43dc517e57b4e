"""Stable-Baselines3 runs with and without a fault, judged by their logs and by the callback.

Each run is made once, with the callback only watching (it does not change the run), and judged
twice: from progress.csv, as it would be without us, and from the callback's record. The runs are
kept in --output, so that a second start only makes what is missing.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import conclude
from foreign_fault_list import CONTRIB, FAULTS, TASKS, Broken, Fault

from steadyrl.judging import judge
from steadyrl.maths.statistics import wilson
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict

UNSEEN = 800  # the first seed that rules were never looked at with
LOST = 0.2  # of what healthy runs gain: a fault that costs less is not effective


@dataclass(frozen=True)
class Case:
    """One run to make."""

    task: str
    seed: int
    fault: Fault | None = None

    @property
    def name(self) -> str:
        """Its folder."""
        what = self.fault.name if self.fault else "healthy"
        return f"{self.task}-{what}-seed{self.seed}"


def make_run(case: Case, folder: Path) -> None:
    """Train one case, once."""
    target = folder / case.name
    if (target / "done.json").exists():
        return
    import gymnasium
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.noise import NormalActionNoise

    from steadyrl.integrations.sb3 import SteadyCallback

    torch.set_num_threads(1)
    task, fault = TASKS[case.task], case.fault

    def world() -> Any:
        env = gymnasium.make(task.environment)
        if fault and fault.reward_scale != 1.0:
            env = gymnasium.wrappers.TransformReward(env, lambda r: fault.reward_scale * r)
        return Broken(env, fault.world) if fault and fault.world else env

    # The environment itself is broken: the Monitor that is put around it sees what it shows.
    envs = make_vec_env(world, n_envs=task.envs, seed=case.seed)
    # A copy: Stable-Baselines3 writes into policy_kwargs.
    settings = copy.deepcopy({**task.settings, **(fault.settings if fault else {})})
    if task.noise:
        size = envs.action_space.shape
        settings["action_noise"] = NormalActionNoise(np.zeros(size), task.noise * np.ones(size))
    policy = settings.pop("policy")
    here = import_module("sb3_contrib" if task.algorithm in CONTRIB else "stable_baselines3")
    model = getattr(here, task.algorithm)(policy, envs, seed=case.seed, **settings)
    model.set_logger(configure(str(target), ["csv", "tensorboard"]))
    callback = SteadyCallback(target / "steady", save_last_good=False, say=_nobody)
    crash = ""
    try:
        model.learn(task.taken, callback=callback, log_interval=1)
    except ValueError as error:  # Stable-Baselines3's own end of a run that has become NaN
        crash = str(error)[:200]
    (target / "done.json").write_text(json.dumps({"crash": crash}))


def _nobody(_line: str) -> None: ...


def gains(folder: Path, case: Case) -> tuple[float, float]:
    """Return at the start and over the last fifth of the run, unscaled."""
    scale = case.fault.reward_scale if case.fault else 1.0
    scale *= -1.0 if case.fault and case.fault.world == "reward-sign" else 1.0
    # The episodes of each Step: a running mean over a hundred of them hides how a run ends.
    steps = RunReader.open(folder / case.name / "steady").steps()
    found = [step.signals.get("rollout.episode_return", math.nan) for step in steps]
    values = np.array([value for value in found if math.isfinite(value)]) / scale
    if not len(values):
        return float("nan"), float("-inf")
    few = max(1, len(values) // 5)
    return float(np.mean(values[:few])), float(np.mean(values[-few:]))


def fell_short(cases: list[Case], folder: Path) -> set[str]:
    """The runs that lose a good part of what healthy ones of their task gain.

    Of faulty ones these are the harmful. Of those without a fault they are told apart, but count
    as healthy: a severe finding there is a false alarm by the bench's word.
    """
    found = set()
    for case in cases:
        usual = [gains(folder, c) for c in cases if not c.fault and c.task == case.task]
        start, end = (float(np.median(side)) for side in zip(*usual, strict=True))
        kept = gains(folder, case)[1] >= end - LOST * abs(end - start)  # NaN keeps nothing
        if not kept or (case.fault is not None and case.fault.unpaid):
            found.add(case.name)
    return found


def by_log(folder: Path, case: Case) -> Verdict:
    """As it would be judged without us."""
    return judge(ForeignRun(folder / case.name))


def by_log_and_settings(folder: Path, case: Case) -> Verdict:
    """The log, with what its owner knows: hyperparameters, environment, budget."""
    task = TASKS[case.task]
    known = {"env": task.environment, "algo": task.algorithm, "n_timesteps": task.taken}
    settings = {**task.settings, **(case.fault.settings if case.fault else {}), **known}
    return judge(ForeignRun(folder / case.name, settings=settings))


def by_callback(folder: Path, case: Case) -> Verdict:
    """As the callback has recorded it."""
    return judge(folder / case.name / "steady")


WAYS: dict[str, Callable[[Path, Case], Verdict]] = {
    "log_only": by_log,
    "with_settings": by_log_and_settings,
    "with_callback": by_callback,
}


def alarmed(verdict: Verdict, severities: tuple[str, ...]) -> list[str]:
    """Rules that spoke about the training."""
    return [f.rule for f in verdict.present if f.severity in severities]


def share(count: int, total: int) -> dict[str, Any]:
    """A proportion with its interval."""
    estimate = wilson(count, total)
    return {"count": count, "of": total, "low": estimate.low, "high": estimate.high}


def remembered(look: Callable[[Path, Case], Verdict]) -> Callable[[Path, Case], Verdict]:
    """The same way to look, at each run once."""
    seen: dict[str, Verdict] = {}

    def once(folder: Path, case: Case) -> Verdict:
        if case.name not in seen:
            seen[case.name] = look(folder, case)
        return seen[case.name]

    return once


def score(
    cases: list[Case], folder: Path, look: Callable[[Path, Case], Verdict], short: set[str]
) -> dict[str, Any]:
    """Recall, false alarms and causes of one way to look; `short`: the runs that fell short."""
    healthy = [c for c in cases if c.fault is None]
    faulty = [c for c in cases if c.fault is not None and c.name in short]
    severe = [c.name for c in healthy if alarmed(look(folder, c), ("severe",))]
    warned = [c.name for c in healthy if alarmed(look(folder, c), ("severe", "warning"))]
    rows, found, first, among = [], 0, 0, 0
    for case in faulty:
        verdict = look(folder, case)
        assert case.fault is not None
        rules = alarmed(verdict, ("severe", "warning"))
        named = [d.cause for d in verdict.diagnoses]
        found += bool(rules)
        wanted = case.fault.causes
        first += bool(named[:1]) and named[0] in wanted
        among += any(name in wanted for name in named[:3])
        sure = [d.confidence for d in verdict.diagnoses[:1]]
        said = {"causes": named[:3], "confidence": sure, "right": named[:1] and named[0] in wanted}
        rows.append({"case": case.name, "aside": case.fault.aside, "rules": rules, **said})
    return {
        "recall": share(found, len(faulty)),
        "severe_false_alarms": share(len(severe), len(healthy)),
        "right_cause_first": share(first, len(faulty)),
        "right_cause_among_three": share(among, len(faulty)),
        "healthy_with_severe": severe,
        "healthy_with_warning": warned,
        "faults": rows,
    }


def tasks_there() -> list[str]:
    """The tasks whose algorithm is installed; says aloud which are left out."""
    if find_spec("sb3_contrib") is not None:
        return list(TASKS)
    left_out = [name for name, task in TASKS.items() if task.algorithm in CONTRIB]
    sys.stderr.write(
        f"left out: {', '.join(left_out)}: sb3-contrib is not installed (pip install sb3-contrib)\n"
    )
    return [name for name in TASKS if name not in left_out]


def main() -> None:
    """Make the runs, judge them, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--healthy-seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=UNSEEN)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="judge what is there, keep nothing")
    parser.add_argument("--as-made", action="store_true", help="judge what is there, make nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--output", type=Path, default=Path("runs/foreign-faults"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    healthy = range(arguments.first_seed, arguments.first_seed + arguments.healthy_seeds)
    tasks = tasks_there()
    cases = [Case(task, seed) for task in tasks for seed in healthy]
    cases += [Case(f.task, seed, f) for f in FAULTS if f.task in tasks for seed in seeds]
    missing = [c for c in cases if not (arguments.output / c.name / "done.json").exists()]
    if arguments.quick or arguments.as_made:
        cases = [c for c in cases if c not in missing]
    else:
        sys.stderr.write(f"{len(cases)} runs, {len(missing)} of them still to be made\n")
        jobs = [(case, arguments.output) for case in missing]
        with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
            pool.starmap(make_run, jobs, chunksize=1)
    whole = {c.task for c in cases if c.fault is None}  # others have nothing to be held against
    cases = [c for c in cases if c.task in whole]
    short = fell_short(cases, arguments.output)
    parts = {
        "": cases,
        "_set_aside": [c for c in cases if c.fault is None or c.fault.aside],
    }
    results = {
        "runs": len(cases),
        "left_out": [name for name in TASKS if name not in tasks],
        "not_made": sorted(c.name for c in missing) if arguments.as_made else [],
        "effective": sum(c.fault is not None and c.name in short for c in cases),
        "latent": sorted(c.name for c in cases if c.fault and c.name not in short),
        "short_without_a_fault": sorted(c.name for c in cases if not c.fault and c.name in short),
        **{
            f"{name}{part}": score(some, arguments.output, look, short)
            for name, look in ((name, remembered(look)) for name, look in WAYS.items())
            for part, some in parts.items()
        },
    }
    conclude("foreign_faults", results, keep=not arguments.quick)


if __name__ == "__main__":
    main()
