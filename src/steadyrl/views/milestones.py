"""When did runs first score, and when did their average pass 10, 50, 100?

A table and a page of curves for runs of one task side by side: learning curves, and for TRPO the
line search's success, the accepted share of the step and the trust region as it was adapted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.coarsen import Columns
from steadyrl.core.records import Step
from steadyrl.store.reader import RunReader
from steadyrl.views.curves import curve
from steadyrl.views.names import distinct_names
from steadyrl.views.pages import Page, chart, charts, table

AVERAGE = "rollout.return_mean"  # of the last 100 training episodes
SMOOTHED = 10  # updates
ABOUT = (
    "Average: of the last 100 training episodes; a level is passed at the step where it is first "
    "reached. First score: the step of the first reward."
)

CURVES = (
    ("Score", "mean of the last 100 training episodes", AVERAGE, 1),
    ("Score of evaluations", "whole episodes of their own", "eval.return_mean", 1),
    ("Line search", "share that succeeded, last 10 updates", "trpo.line_search_success", SMOOTHED),
    ("Step", "accepted share, mean of 10 updates", "trpo.step_fraction", SMOOTHED),
    ("Trust region", "max_kl as the stabiliser left it", "setting.max_kl", 1),
    ("KL", "of the policy's updates, mean of 10", "policy.kl", SMOOTHED),
    ("Entropy", "of the policy, as a share of the largest", "policy.entropy_share", 1),
)


@dataclass(frozen=True, kw_only=True)
class Milestones:
    """What one run reached, and when (in the run's own unit; NaN: not reached)."""

    run: str
    taken: int
    samples_per_update: int
    steps_per_second: float
    first_score: float
    passed: dict[float, float]
    best: float
    last: float
    search_success: float
    step_fraction: float
    max_kl: float


def measure_all(runs: Sequence[Path], levels: Sequence[float]) -> list[Milestones]:
    """The milestones of runs, each under a name of its own."""
    names = distinct_names(runs)
    found = [measure(RunReader.open(run), levels) for run in runs]
    return [replace(one, run=name) for name, one in zip(names, found, strict=True)]


def measure(store: RunReader, levels: Sequence[float]) -> Milestones:
    """Read a run's milestones from its Steps."""
    steps = list(store.steps())
    batch = store.config.samples_per_update

    def first(reached: Any) -> float:
        return next((float(s.taken) for s in steps if reached(s.signals)), math.nan)

    averages = _values(steps, AVERAGE)
    return Milestones(
        run=store.path.name,
        taken=steps[-1].taken if steps else 0,
        samples_per_update=batch,
        steps_per_second=_mean(_values(steps, "time.rate")),
        first_score=first(_scored),
        passed={
            level: first(lambda signals, level=level: signals.get(AVERAGE, -math.inf) >= level)
            for level in levels
        },
        best=float(np.max(averages)) if len(averages) else math.nan,
        last=float(averages[-1]) if len(averages) else math.nan,
        search_success=_mean(_values(steps, "trpo.line_search_success")),
        step_fraction=_mean(_values(steps, "trpo.step_fraction")),
        max_kl=_last(_values(steps, "setting.max_kl")),
    )


def _scored(signals: Mapping[str, float]) -> bool:
    """Whether any step was rewarded; by the mean alone a game of gains and losses never scores."""
    mean = signals.get("rollout.reward_mean", 0.0)
    return signals.get("rollout.reward_positive_share", mean) > 0


def head(levels: Sequence[float]) -> list[str]:
    """Titles of the table's columns."""
    passed = [f"average {level:g}" for level in levels]
    numbers = ["best average", "last", "steps/s", "samples per update"]
    return [
        "run",
        "steps",
        "first score",
        *passed,
        *numbers,
        "line searches ok",
        "step accepted",
        "max_kl",
    ]


def measured(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Titles and rows without the columns that no run has: of TRPO, where none is one."""
    known = [place for place in range(len(head)) if any(row[place] != "-" for row in rows)]
    known = known or list(range(len(head)))
    return [[cells[place] for place in known] for cells in (head, *rows)]


def told(found: Sequence[Milestones]) -> list[str]:
    """Who went furthest, and how many passed which level."""
    scored = [one for one in found if not math.isnan(one.best)]
    if not scored:
        return ["No run recorded a return of its training episodes."]
    best = max(scored, key=lambda one: one.best)
    many = f" of {len(found)} runs" if len(found) > 1 else ""
    said = [f"Best average{many}: {best.best:,.1f} ({best.run})."]
    for level in found[0].passed:
        when = [one.passed[level] for one in found if not math.isnan(one.passed[level])]
        if when:
            said.append(
                f"Average {level:g}: passed by {len(when)} of {len(found)}, first after "
                f"{min(when):,.0f} steps."
            )
    missed = [f"{level:g}" for level in found[0].passed if all(map(_missed(level), found))]
    return [*said, f"Passed by none: {', '.join(missed)}."] if missed else said


def _missed(level: float) -> Callable[[Milestones], bool]:
    return lambda one: math.isnan(one.passed[level])


def row(found: Milestones) -> list[str]:
    """One run as text cells."""
    return [
        found.run,
        f"{found.taken:,}",
        _count(found.first_score),
        *(_count(value) for value in found.passed.values()),
        _number(found.best, ".1f"),
        _number(found.last, ".1f"),
        _number(found.steps_per_second, ",.0f"),
        f"{found.samples_per_update:,}",
        _number(found.search_success, ".0%"),
        _number(found.step_fraction, ".2f"),
        _number(found.max_kl, ".3g"),
    ]


def milestones_page(runs: Sequence[Path], found: Sequence[Milestones]) -> Page:
    """The table and the curves of runs whose milestones were measured."""
    columns = {one.run: RunReader.open(run).columns() for one, run in zip(found, runs, strict=True)}
    drawn = []
    for title, about, name, window in CURVES:
        series = [_line(run, held, name, window) for run, held in columns.items() if held]
        known = [line for line in series if line is not None]
        if known:
            drawn.append(chart(title, known, about=about))
    titles, *rows = measured(head(list(found[0].passed)), [row(one) for one in found])
    blocks = [table("Each run", titles, rows, ABOUT), charts("Curves", drawn)]
    return Page(kind="milestones", title="Milestones", told=told(found), blocks=blocks)


def _line(run: str, columns: Columns, name: str, window: int) -> dict[str, Any] | None:
    """A signal of one run as a smoothed line."""
    if name not in columns.signals:
        return None
    positions, values = columns.signals[name]
    taken = columns.takens[positions].astype(np.float64)
    return {"name": run, **curve(taken, _smoothed(values, window)).to_json()}


def _smoothed(values: np.ndarray[Any, Any], window: int) -> np.ndarray[Any, Any]:
    """Mean of the last `window` values that are numbers."""
    if window == 1:
        return values
    known = np.isfinite(values)
    sums = np.cumsum(np.where(known, values, 0.0))
    counts = np.cumsum(known).astype(float)
    sums[window:] -= sums[:-window].copy()
    counts[window:] -= counts[:-window].copy()
    means = np.full(len(values), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _values(steps: Sequence[Step], name: str) -> np.ndarray[Any, Any]:
    return np.array([step.signals[name] for step in steps if name in step.signals])


def _mean(values: np.ndarray[Any, Any]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _last(values: np.ndarray[Any, Any]) -> float:
    return float(values[-1]) if len(values) else math.nan


def _count(value: float) -> str:
    return "not reached" if math.isnan(value) else f"{value:,.0f}"


def _number(value: float, spec: str) -> str:
    return "-" if math.isnan(value) else format(value, spec)
