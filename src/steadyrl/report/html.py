"""A self-contained HTML page: facts, curves and events of one run, or several over each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.config import flatten
from steadyrl.core.errors import StoreError
from steadyrl.core.records import Diagnosis, Finding, Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.judging import Recorded, judged
from steadyrl.report.curves import Curve, Trace, curve
from steadyrl.report.findings import told_settings
from steadyrl.report.names import distinct_names
from steadyrl.report.page import Chart, legend, number, write_page
from steadyrl.stability.checklists import Line, go_through
from steadyrl.stability.explain import headline
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict

GROUPS = {
    "Returns": (
        "eval.return_mean",
        "rollout.return_mean",
        "eval.length_mean",
        "rollout.length_mean",
    ),
    "Losses": (
        "critic.loss",
        "critic.loss_max",
        "actor.loss",
        "td.abs_mean",
        "policy.loss",
        "value.loss",
        "value.explained_variance",
    ),
    "Policy": (
        "policy.kl",
        "policy.entropy",
        "policy.clip_fraction",
        "policy.std",
        "trpo.line_search_success",
        "trpo.step_fraction",
    ),
    "Completions": (
        "language.accuracy",
        "language.length_mean",
        "language.cut_share",
        "language.reference_kl",
        "language.equal_groups_share",
    ),
    "Values": ("q.mean", "q.abs_max", "q.bound_ratio", "td.target_std"),
    "Gradients": (
        "critic.gradient_norm",
        "critic.gradient_norm_max",
        "actor.gradient_norm",
        "actor.gradient_norm_max",
        "policy.gradient_norm",
        "value.gradient_norm",
    ),
}
MARKS = {True: "✓", False: "✗", None: "-"}
FACTS = ("run", "status", "task", "seed", "taken", "seconds", "final return", "best")
Row = tuple[str, ...]


@dataclass(frozen=True)
class RunsShown:
    """Facts, curves, events and settings of runs, as the template wants them."""

    facts: list[Row]
    legend: list[tuple[str, str]]
    sections: list[tuple[str, list[Chart]]]
    events: list[tuple[str, list[Row]]]
    settings: list[tuple[str, list[Row]]]
    facts_head: Row = FACTS
    events_head: Row = ("step", "event", "details")

    @property
    def charts(self) -> list[Chart]:
        """Those of all sections."""
        return [chart for _, charts in self.sections for chart in charts]


def _usual_place(runs: Sequence[Path]) -> Path:
    """A page of several runs is nobody's own: it must not take the place of one that is."""
    first = runs[0]
    if len(runs) > 1:
        return first.parent / f"report-of-{len(runs)}-runs.html"
    return first.with_suffix(".html") if first.is_file() else first / "report.html"


def write_report(stores: Sequence[Recorded], output: Path | None = None) -> Path:
    """Write the page into the run, of several beside the first, or where asked."""
    path = output or _usual_place([store.path for store in stores])
    for store in stores:
        if isinstance(store, ForeignRun) and not any(step.signals for step in store.steps()):
            raise StoreError(
                f"{store.path}: none of its names is known, so there is nothing to draw. Say what "
                "they mean with --mapping (docs/foreign-runs.md shows how)."
            )
    names = distinct_names([store.path for store in stores])
    title = ", ".join(names) if len(names) <= 3 else f"{len(names)} runs"
    verdicts = [_judged(name, store) for name, store in zip(names, stores, strict=True)]
    runs = show_runs(stores)
    return write_page(path, "report", title, runs.charts, verdicts=verdicts, runs=runs)


def show_runs(stores: Sequence[Recorded]) -> RunsShown:
    """What every page about runs shows of them."""
    names = distinct_names([store.path for store in stores])
    named = list(zip(names, stores, strict=True))
    series = {name: list(store.steps()) for name, store in named}
    return RunsShown(
        facts=[_facts(name, store) for name, store in named],
        legend=legend(names),
        sections=_sections(series, unit_of(stores)),
        events=[(name, _events(store)) for name, store in named],
        settings=[(name, _settings(store)) for name, store in named],
    )


def traces(
    name: str,
    series: Mapping[str, Sequence[Step]],
    smooth: Callable[[Curve], Curve] = lambda y: y,
) -> list[Trace]:
    """A signal of several runs as curves for a chart."""
    found: list[Trace] = []
    for run, color in legend(list(series)):
        steps = series[run]
        points = np.array([(s.taken, s.signals[name]) for s in steps if name in s.signals])
        if len(points):
            found += curve(run, np.column_stack((points[:, 0], smooth(points[:, 1]))), color)
    return found


def unit_of(stores: Sequence[Recorded]) -> str:
    """What an axis that several runs share counts in."""
    units = {store.config.unit.many for store in stores}
    return units.pop() if len(units) == 1 else "steps"


def _sections(series: Mapping[str, Sequence[Step]], unit: str) -> list[tuple[str, list[Chart]]]:
    """Charts of every signal that was recorded, under headings."""
    present = {name for steps in series.values() for step in steps for name in step.signals}
    shown = [name for names in GROUPS.values() for name in names]
    groups = {**GROUPS, "More": tuple(name for name in CATALOGUE if name not in shown)}
    sections, number_of_charts = [], 0
    for heading, names in groups.items():
        charts = []
        for name in names:
            if name in present:
                signal = CATALOGUE[name]
                about = f"{signal.meaning} [{signal.unit}]"
                identity = f"chart{number_of_charts}"
                drawn = traces(name, series)
                chart = {"id": identity, "title": name, "about": about, "traces": drawn}
                charts.append({**chart, "x": unit})
                number_of_charts += 1
        if charts:
            sections.append((heading, charts))
    return sections


def _judged(name: str, store: Recorded) -> dict[str, Any]:
    """Verdict and checklist of a run; of other programs' runs the budget is seldom known."""
    found = judged(store)
    lines: list[Line] = []
    if isinstance(store, RunReader) and found.config.budget:
        lines = go_through(found.config, list(store.steps()), found.verdict.findings)
    rows = [(line.phase, MARKS[line.passed], line.statement, line.seen) for line in lines]
    return {**_verdict(name, found.verdict), "checklist": rows}


def _verdict(name: str, verdict: Verdict) -> dict[str, Any]:
    """What was found in a run, and why, in words: as `diagnose` says it."""
    notes = [f"{action.sentence}: {action.because}" for action in verdict.interventions]
    if verdict.settings_changed:
        notes.append(told_settings(verdict))
    return {
        "name": name,
        "unit": verdict.unit.one,
        "sentence": verdict.sentence,
        "notes": [*notes, *verdict.problems],
        "findings": _findings(verdict.findings),
        "diagnoses": _diagnoses(verdict.diagnoses, verdict.changes),
        "undecided": verdict.undecided if verdict.findings else [],
        "machine": _findings(verdict.machine),
        "machine_diagnoses": _diagnoses(verdict.machine_diagnoses, verdict.changes),
    }


def _findings(findings: Sequence[Finding]) -> list[Row]:
    return [(number(f.taken, ","), f.severity, f"{f.rule} {f.name}", f.message) for f in findings]


def _diagnoses(diagnoses: Sequence[Diagnosis], changes: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "cause": diagnosis.cause,
            "name": diagnosis.name,
            "confidence": number(diagnosis.confidence, ".2f"),
            "evidence_for": diagnosis.evidence_for,
            "evidence_against": diagnosis.evidence_against,
            "remedies": [
                changes.get(remedy, headline(REMEDIES[remedy])) for remedy in diagnosis.remedies
            ],
        }
        for diagnosis in diagnoses
    ]


def _facts(name: str, store: Recorded) -> Row:
    """A run in one line."""
    summary = store.summary() or {}
    return (
        name,
        f"{summary.get('status', 'unknown')} {summary.get('message') or ''}",
        store.config.task,
        "" if store.config.task == "unknown" else str(store.config.seed),
        f"{number(summary.get('taken', 0), ',')} {store.config.unit.many}",
        number(summary.get("seconds", 0), ",.0f"),
        number(summary.get("final_return"), ",.5g"),
        number(summary.get("best_return"), ",.5g"),
    )


def _events(store: Recorded) -> list[Row]:
    return [
        (str(event.get("step", "")), str(event.get("event", "")), json.dumps(_details(event)))
        for event in store.events()
    ]


def _details(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("event", "step")}


def _settings(store: Recorded) -> list[Row]:
    """The settings in force, and what they were at first where that was something else."""
    if not isinstance(store, RunReader):
        return [(name, str(value)) for name, value in flatten(store.config.shown())]
    first = dict(flatten(store.config.shown()))
    rows: list[Row] = []
    for name, value in flatten(store.config_in_force().shown()):
        before = first.get(name)
        rows.append((name, str(value) if value == before else f"{value} ({before} at first)"))
    return rows
