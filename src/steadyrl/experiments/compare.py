"""Several configs on the same seeds: who learns better, how surely, and how steadily.

Seeds are added round by round until the answer is clear or the budget is spent. Looking several
times makes chance look like an answer, so every look is held to a stricter level (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.configs.run import RunConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.records import without_nan
from steadyrl.experiments.executor import HERE, Executor
from steadyrl.experiments.history import Floats, History, read_history
from steadyrl.experiments.statistics import (
    Estimate,
    bootstrap,
    iqm,
    paired_difference,
    probability_of_improvement,
)
from steadyrl.experiments.trials import Trial, run_trials
from steadyrl.store.files import write_json
from steadyrl.store.paths import relative_to

FEWEST_SEEDS = 3  # before the first look
GRID = 60  # points of a curve
THRESHOLD = 0.8  # of the way from the common start to the best final return


@dataclass(frozen=True)
class Arm:
    """One config's figures over its seeds."""

    name: str
    seeds: int
    final: Estimate  # IQM over seeds
    area: Estimate  # IQM of the mean over all evaluations: speed of learning
    collapse_rate: float
    sick_rate: float  # with a severe finding
    worst_drawdown: float
    time_to_threshold: float  # median over seeds; infinite if most never reach it
    seed_spread: float  # interquartile range of final returns
    seconds: float  # per run
    env_steps: int
    curve: Mapping[str, Sequence[float]]  # env_steps, value, low, high
    runs: Sequence[str]


@dataclass(frozen=True)
class Contrast:
    """One config against the first."""

    name: str
    reference: str
    difference: Estimate  # of final returns, seed by seed
    improvement: Estimate  # probability that a run of it beats one of the reference
    clear: bool


@dataclass
class Comparison:
    """Everything a comparison found, as it is written to compare.json."""

    threshold: float
    level: float
    arms: list[Arm] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what is not finite is null."""
        record: dict[str, Any] = without_nan(asdict(self))
        return record


def compare(
    configs: Mapping[str, RunConfig],
    folder: Path,
    *,
    seeds: int = 5,
    threshold: float | None = None,
    stop_early: bool = True,
    executor: Executor = HERE,
    say: Callable[[str], None] = lambda _line: None,
) -> Comparison:
    """Run all configs on the same seeds. Run it again on the same folder and it goes on."""
    _refuse(configs, seeds)
    first_look = min(seeds, FEWEST_SEEDS)
    level = 1 - 0.05 / (seeds - first_look + 1 if stop_early else 1)
    folder.mkdir(parents=True, exist_ok=True)
    histories: dict[str, list[History]] = {name: [] for name in configs}
    done = 0
    while done < seeds:
        count = first_look if done == 0 else 1
        if not stop_early:
            count = seeds
        trials = [
            Trial(
                name=f"{name} seed {config.seed + number}",
                config=config.replaced({"seed": config.seed + number}),
                directory=folder / slug(name) / f"seed{config.seed + number}",
            )
            for number in range(done, done + count)
            for name, config in configs.items()
        ]
        owner = {trial.name: name for trial in trials for name in configs if _owns(name, trial)}
        for outcome in run_trials(trials, executor):
            history = replace(read_history(outcome), path=relative_to(folder, outcome.path))
            histories[owner[outcome.name]].append(history)
            say(f"  {outcome.name}: return {outcome.final_return:,.4g}, {outcome.status}")
        done += count
        result = judge_arms(histories, threshold=threshold, level=level)
        write_json(folder / "compare.json", result.to_json())
        say(f"{done} seeds: {result.message}")
        if stop_early and done < seeds and all(contrast.clear for contrast in result.contrasts):
            say(f"the answer is clear: the other {seeds - done} seeds are not needed")
            break
    return result


def judge_arms(
    histories: Mapping[str, Sequence[History]], *, threshold: float | None, level: float
) -> Comparison:
    """All figures of what has been run so far."""
    if threshold is None:
        threshold = _threshold(histories)
    result = Comparison(threshold, level)
    names = list(histories)
    finals = _scores(histories)
    for name in names:
        result.arms.append(_arm(name, histories[name], finals[name], threshold))
    for name in names[1:]:
        ours, theirs = finals[name], finals[names[0]]
        difference = paired_difference([ours], [theirs], level=level)
        improvement = probability_of_improvement([ours], [theirs], level=level)
        clear = difference.excludes(0.0)
        result.contrasts.append(Contrast(name, names[0], difference, improvement, clear))
    result.message = _message(result)
    return result


def slug(name: str) -> str:
    """A folder name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name).strip("-")


def _owns(name: str, trial: Trial) -> bool:
    return trial.name == f"{name} seed {trial.config.seed}"


def _scores(histories: Mapping[str, Sequence[History]]) -> dict[str, Floats]:
    """Final returns in the order of seeds, so that arms can be paired.

    A run that did not finish has no final return, however good its last evaluation was: it counts
    as the worst evaluation that any run of the comparison had.
    """
    everything = [h.returns for runs in histories.values() for h in runs if len(h.returns)]
    worst = min((float(returns.min()) for returns in everything), default=0.0)
    return {
        name: np.array(
            [
                history.final if history.complete else worst
                for history in sorted(runs, key=lambda history: history.seed)
            ]
        )
        for name, runs in histories.items()
    }


def _arm(name: str, histories: Sequence[History], scores: Floats, threshold: float) -> Arm:
    areas = np.array([h.returns.mean() if len(h.returns) else math.nan for h in histories])
    if not np.isfinite(areas).any():
        areas = scores  # none of its runs lived to an evaluation
    drawdowns = [h.drawdown for h in histories if math.isfinite(h.drawdown)]
    quarter, three = np.quantile(scores, [0.25, 0.75])
    return Arm(
        name=name,
        seeds=len(histories),
        final=bootstrap([scores], iqm),
        area=bootstrap([areas[np.isfinite(areas)]], iqm),
        collapse_rate=float(np.mean([h.collapsed for h in histories])),
        sick_rate=float(np.mean([bool(h.severe) for h in histories])),
        worst_drawdown=max(drawdowns, default=math.nan),
        time_to_threshold=float(np.median([h.reached(threshold) for h in histories])),
        seed_spread=float(three - quarter),
        seconds=float(np.mean([h.seconds for h in histories])),
        env_steps=int(np.mean([h.total_env_steps for h in histories])),
        curve=_curve(histories),
        runs=[h.path for h in histories],
    )


def _curve(histories: Sequence[History]) -> dict[str, list[float]]:
    """IQM over seeds on a common grid, with its bootstrap interval."""
    known = [h for h in histories if len(h.returns)]
    if not known:
        return {"env_steps": [], "value": [], "low": [], "high": []}
    last = min(h.env_steps[-1] for h in known)
    first = max(h.env_steps[0] for h in known)
    grid = np.linspace(first, max(first, last), GRID)
    table = np.stack([np.interp(grid, h.env_steps, h.returns) for h in known])
    points = [bootstrap([table[:, i]], iqm, resamples=2000) for i in range(GRID)]
    return {
        "env_steps": grid.tolist(),
        "value": [point.value for point in points],
        "low": [point.low for point in points],
        "high": [point.high for point in points],
    }


def _threshold(histories: Mapping[str, Sequence[History]]) -> float:
    runs = [h for part in histories.values() for h in part if len(h.returns)]
    if not runs:
        return math.nan
    start = float(np.median([h.returns[0] for h in runs]))
    best = max(float(np.median(scores)) for scores in _scores(histories).values())
    return start + THRESHOLD * (best - start)


def _message(result: Comparison) -> str:
    said = []
    for contrast in result.contrasts:
        chance = f"beats it with probability {contrast.improvement:.2f}"
        if contrast.clear:
            word = "better" if contrast.difference.value > 0 else "worse"
            said.append(f"{contrast.name} is {word} than {contrast.reference} ({chance})")
        else:
            said.append(f"{contrast.name} against {contrast.reference}: not decided ({chance})")
    return "; ".join(said)


def _refuse(configs: Mapping[str, RunConfig], seeds: int) -> None:
    if len(configs) < 2:
        raise ConfigError("compare needs at least two different configs.")
    if any(not config.evaluation.episodes for config in configs.values()):
        raise ConfigError("evaluation.episodes = 0: without evaluations nothing can be compared.")
    if seeds < 2:
        raise ConfigError(f"seeds = {seeds}: one seed has no spread. Use 2 or more, better 5.")
    tasks = {config.environment.id for config in configs.values()}
    if len(tasks) > 1:
        raise ConfigError(
            f"the configs train on different environments ({', '.join(sorted(tasks))}): their "
            "returns cannot be compared."
        )
