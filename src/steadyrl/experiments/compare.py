"""Several configs on the same seeds: who learns better, how surely, and how steadily.

Seeds are added one by one until the answer is clear or the budget is spent. What is clear is
decided by flipping the signs of paired differences; looking several times, and at several configs,
is paid for, so that chance is called clear in at most 5 % of all comparisons (docs/statistics.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.errors import ConfigError
from steadyrl.core.numbers import amount
from steadyrl.core.records import without_nan
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.executor import HERE, Executor
from steadyrl.experiments.history import Floats, History, read_history
from steadyrl.experiments.trials import Trial, run_trials
from steadyrl.maths.statistics import (
    ERROR_RATE,
    Estimate,
    SignFlips,
    fewest_pairs,
    middle_half,
    probability_of_improvement,
)
from steadyrl.store.files import write_json
from steadyrl.store.paths import relative_to

USUAL_SEEDS = 8  # enough for an effect of twice the spread between seeds
GRID = 60  # points of a curve
UNEQUAL = 0.1  # runs that differ by more in length are said to
THRESHOLD = 0.8  # of the way from the common start to the best final return


@dataclass(frozen=True)
class Arm:
    """One config's figures over its seeds."""

    name: str
    seeds: int
    final: Estimate  # IQM and middle half of the seeds
    area: Estimate  # the same of the mean over all evaluations: speed of learning
    collapse_rate: float
    sick_rate: float  # with a severe finding
    worst_drawdown: float
    time_to_threshold: float  # median over seeds; infinite if most never reach it
    seed_spread: float  # interquartile range of final returns
    seconds: float  # per run
    taken: int
    curve: Mapping[str, Sequence[float]]  # taken, IQM and middle half of the seeds
    runs: Sequence[str]


@dataclass(frozen=True)
class Contrast:
    """One config against the first."""

    name: str
    reference: str
    difference: Estimate  # mean of final returns, seed by seed
    improvement: float  # share of pairs of runs in which it beats the reference
    p_value: float  # of chance alone, all looks so far included
    allowed: float  # what that may be at this look
    clear: bool


@dataclass
class Comparison:
    """Everything a comparison found, as it is written to compare.json."""

    threshold: float
    error_rate: float  # of each contrast, so that all of them together keep to 5 %
    arms: list[Arm] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)
    message: str = ""
    planned: list[int] = field(default_factory=list)  # seeds; each new plan after a look is another

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what is not finite is null."""
        record: dict[str, Any] = without_nan(asdict(self))
        return record


def compare(
    configs: Mapping[str, RunConfig],
    folder: Path,
    *,
    seeds: int = USUAL_SEEDS,
    threshold: float | None = None,
    stop_early: bool = True,
    executor: Executor = HERE,
    say: Callable[[str], None] = lambda _line: None,
) -> Comparison:
    """Run all configs on the same seeds. Run it again on the same folder and it goes on."""
    _refuse(configs, seeds)
    test = planned_test(seeds, contrasts=len(configs) - 1, stop_early=stop_early)
    if (hint := too_few(seeds, test)) is not None:
        say(hint)
    folder.mkdir(parents=True, exist_ok=True)
    planned = _plans(folder, seeds)
    histories: dict[str, list[History]] = {name: [] for name in configs}
    done = 0
    for look in test.looks:
        trials = [
            Trial(
                name=f"{name} seed {config.seed + number}",
                config=config.replaced({"seed": config.seed + number}),
                directory=folder / slug(name) / f"seed{config.seed + number}",
            )
            for number in range(done, look)
            for name, config in configs.items()
        ]
        owner = {f"{name} seed {t.config.seed}": name for name in configs for t in trials}
        for outcome in run_trials(trials, executor):
            history = replace(read_history(outcome), path=relative_to(folder, outcome.path))
            histories[owner[outcome.name]].append(history)
            say(f"  {outcome.name}: return {amount(outcome.final_return)}, {outcome.status}")
        done = look
        result = judge_arms(histories, threshold=threshold, test=test)
        result.planned = planned
        if len(planned) > 1:
            plans = " then ".join(map(str, planned))
            result.message += f" ({plans} seeds planned: chance is clear more often than p says)"
        write_json(folder / "compare.json", result.to_json())
        say(f"{done} seeds: {result.message}")
        if done < seeds and all(contrast.clear for contrast in result.contrasts):
            say(f"the answer is clear: the other {seeds - done} seeds are not needed")
            break
    return result


def _plans(folder: Path, seeds: int) -> list[int]:
    """The numbers of seeds planned so far: one that is changed after a look is not paid for."""
    file = folder / "compare.json"
    before = json.loads(file.read_text("utf-8")).get("planned", []) if file.exists() else []
    return before if before[-1:] == [seeds] else [*before, seeds]


def planned_test(seeds: int, *, contrasts: int, stop_early: bool) -> SignFlips:
    """When to look, and how often chance may be called clear in each contrast."""
    error_rate = ERROR_RATE / contrasts
    first = fewest_pairs(error_rate)
    looks = range(first, seeds + 1) if stop_early and seeds > first else [seeds]
    return SignFlips(tuple(looks), error_rate)


def too_few(seeds: int, test: SignFlips) -> str | None:
    """What to say, before anything is run, of a number of seeds that cannot answer."""
    needed = fewest_pairs(test.error_rate)
    if seeds >= needed:
        return None
    return (
        f"with {seeds} seeds no answer can be clear (it takes {needed}); "
        f"use {max(USUAL_SEEDS, needed + 2)}"
    )


def judge_arms(
    histories: Mapping[str, Sequence[History]], *, threshold: float | None, test: SignFlips
) -> Comparison:
    """All figures of what has been run so far."""
    if threshold is None:
        threshold = _threshold(histories)
    result = Comparison(threshold, test.error_rate)
    names = list(histories)
    finals = _scores(histories)
    for name in names:
        result.arms.append(_arm(name, histories[name], finals[name], threshold))
    for name in names[1:]:
        ours, theirs = finals[name], finals[names[0]]
        differences = ours - theirs
        result.contrasts.append(
            Contrast(
                name=name,
                reference=names[0],
                difference=test.interval(differences),
                improvement=probability_of_improvement(ours, theirs),
                p_value=test.p_value(differences),
                allowed=test.allowed(len(differences)),
                clear=test.clear(differences),
            )
        )
    result.message = _message(result)
    return result


def slug(name: str) -> str:
    """A folder name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name).strip("-")


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
    final = middle_half(scores)
    return Arm(
        name=name,
        seeds=len(histories),
        final=final,
        area=middle_half(areas[np.isfinite(areas)]),
        collapse_rate=float(np.mean([h.collapsed for h in histories])),
        sick_rate=float(np.mean([bool(h.severe) for h in histories])),
        worst_drawdown=max(drawdowns, default=math.nan),
        time_to_threshold=float(np.median([h.reached(threshold) for h in histories])),
        seed_spread=final.high - final.low,
        seconds=float(np.mean([h.seconds for h in histories])),
        taken=int(np.mean([h.total for h in histories])),
        curve=_curve(histories),
        runs=[h.path for h in histories],
    )


def _curve(histories: Sequence[History]) -> dict[str, list[float]]:
    """IQM over seeds on a common grid, with the middle half of them."""
    known = [h for h in histories if len(h.returns)]
    if not known:
        return {"taken": [], "value": [], "low": [], "high": []}
    last = min(h.taken[-1] for h in known)
    first = max(h.taken[0] for h in known)
    grid = np.unique(np.linspace(first, max(first, last), GRID))  # of one evaluation: a point
    table = np.stack([np.interp(grid, h.taken, h.returns) for h in known])
    points = [middle_half(column) for column in table.T]
    return {
        "taken": grid.tolist(),
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
    taken = {arm.name: max(arm.taken, 1) for arm in result.arms}
    for contrast in result.contrasts:
        chance = f"p = {contrast.p_value:.2g}, wins {contrast.improvement:.0%} of the pairs"
        longer = taken[contrast.name] / taken[contrast.reference]
        if abs(longer - 1.0) > UNEQUAL:  # one update may be longer than what is left of the budget
            chance += f", but with {longer:.2g} times the steps"
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
    for name, config in configs.items():
        every, budget = config.evaluation.every, config.budget
        if every > budget:
            raise ConfigError(
                f"{name}: a run of {config.unit.of(budget)} would end before its first evaluation. "
                f"Set evaluation.every ({every:,}) to a tenth of {config.unit.setting} or less."
            )
    if seeds < 2:
        raise ConfigError(f"seeds = {seeds}: one seed has no spread. Use {USUAL_SEEDS}.")
    tasks = {config.task for config in configs.values()}
    if len(tasks) > 1:
        raise ConfigError(
            f"the configs train on different environments ({', '.join(sorted(tasks))}): their "
            "returns cannot be compared."
        )
