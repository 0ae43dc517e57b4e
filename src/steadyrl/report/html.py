"""A self-contained HTML page: facts, curves and events of one run, or several over each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.config import flatten
from steadyrl.core.errors import StoreError
from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.judging import Recorded, judge
from steadyrl.report.page import COLORS, Chart, card, legend, number, page
from steadyrl.stability.explain import headline
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.files import write_atomically
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.verdict import Verdict

Curve = np.ndarray[Any, Any]

POINTS = 2000  # per curve; extremes of each bucket are kept, so spikes stay visible

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


def write_report(stores: Sequence[Recorded], output: Path | None = None) -> Path:
    """Write the page beside the first run, or where asked; returns its path."""
    first = stores[0].path
    path = output or (first.with_suffix(".html") if first.is_file() else first / "report.html")
    for store in stores:
        if isinstance(store, ForeignRun) and not any(step.signals for step in store.steps()):
            raise StoreError(
                f"{store.path}: none of its names is known, so there is nothing to draw. Say what "
                "they mean with --mapping (docs/foreign-runs.md shows how)."
            )
    preface = "".join(_verdict(judge(store)) for store in stores)
    write_atomically(path, render(stores, preface=preface).encode())
    return path


def render(stores: Sequence[Recorded], *, preface: str = "", title: str = "") -> str:
    """The whole page as text; `preface` is HTML that comes first."""
    names = [store.path.name for store in stores]
    title = title or (", ".join(names) if len(names) <= 3 else f"{len(names)} runs")
    body, charts = render_body(stores)
    return page(title, preface + body, charts)


def render_body(stores: Sequence[Recorded]) -> tuple[str, list[Chart]]:
    """Facts, curves, events and settings of runs: HTML and its charts."""
    series = {store.path.name: list(store.steps()) for store in stores}
    present = {name for steps in series.values() for step in steps for name in step.signals}
    shown = [name for names in GROUPS.values() for name in names]
    groups = {**GROUPS, "More": tuple(name for name in CATALOGUE if name not in shown)}
    charts: list[Chart] = []
    sections = []
    for heading, names in groups.items():
        cards = []
        for name in names:
            if name in present:
                identity = f"chart{len(charts)}"
                charts.append({"id": identity, "traces": traces(name, series)})
                cards.append(_card(name, identity))
        if cards:
            sections.append(f"<h2>{heading}</h2><div class='grid'>{''.join(cards)}</div>")
    body = (
        f"<h2>Runs</h2><div class='scroll'>{_facts(stores)}</div>"
        f"<p class='legend'>{legend(list(series))}</p>{''.join(sections)}"
        f"<h2>Events</h2>{''.join(_events(store) for store in stores)}"
        f"{''.join(_settings(store) for store in stores)}"
    )
    return body, charts


def _verdict(verdict: Verdict) -> str:
    """What was found in a run, and why, in words."""
    parts = [f"<h2>{escape(Path(verdict.run).name)}: {verdict.headline}</h2>"]
    if verdict.findings:
        rows = "".join(
            f"<tr><td>{f.env_steps:,}</td><td>{f.severity}</td><td>{f.rule} {escape(f.name)}</td>"
            f"<td>{escape(f.message)}</td></tr>"
            for f in verdict.findings
        )
        head = "<tr><th>env step</th><th>severity</th><th>finding</th><th></th></tr>"
        parts.append(f"<div class='scroll'><table>{head}{rows}</table></div>")
    for diagnosis in verdict.diagnoses:
        points = [f"<li>for: {escape(text)}</li>" for text in diagnosis.evidence_for]
        points += [f"<li>against: {escape(text)}</li>" for text in diagnosis.evidence_against]
        points += [
            f"<li>remedy: {escape(verdict.changes.get(r, headline(REMEDIES[r])))}</li>"
            for r in diagnosis.remedies
        ]
        parts.append(
            f"<p><b>{diagnosis.cause} {escape(diagnosis.name)}</b> "
            f"(confidence {diagnosis.confidence:.2f})</p><ul>{''.join(points)}</ul>"
        )
    return "".join(parts)


def traces(
    name: str, series: dict[str, list[Step]], smooth: Callable[[Curve], Curve] = lambda y: y
) -> list[dict[str, Any]]:
    """A signal of several runs as curves for a chart."""
    found = []
    for (run, steps), color in zip(series.items(), cycle(COLORS), strict=False):
        points = np.array([(s.env_steps, s.signals[name]) for s in steps if name in s.signals])
        if not len(points):
            continue
        x, y = thin(np.column_stack((points[:, 0], smooth(points[:, 1]))))
        found.append(
            {
                "x": x.tolist(),
                "y": [value if np.isfinite(value) else None for value in y.tolist()],
                "name": run,
                "mode": "lines+markers" if len(x) < 60 else "lines",
                "line": {"width": 1.5, "color": color},
            }
        )
    return found


def thin(points: Curve) -> tuple[Curve, Curve]:
    """At most POINTS of a curve: of each bucket its lowest and highest point, in order."""
    if len(points) <= POINTS:
        return points[:, 0], points[:, 1]
    kept = [0, len(points) - 1]
    for bucket in np.array_split(np.arange(len(points)), POINTS // 2):
        values = points[bucket, 1]
        if np.isnan(values).all():
            kept.append(int(bucket[0]))
        else:
            kept += [int(bucket[np.nanargmin(values)]), int(bucket[np.nanargmax(values)])]
    chosen = points[np.unique(kept)]
    return chosen[:, 0], chosen[:, 1]


def _card(name: str, identity: str) -> str:
    signal = CATALOGUE[name]
    return card(name, f"{signal.meaning} [{signal.unit}]", identity)


def _facts(stores: Sequence[Recorded]) -> str:
    """One line per run."""
    titles = ("run", "status", "environment", "seed", "env steps", "seconds", "last return", "best")
    rows = []
    for store in stores:
        summary = store.summary() or {}
        cells = (
            store.path.name,
            f"{summary.get('status', 'unknown')} {summary.get('message') or ''}",
            store.config.environment.id,
            "" if store.config.environment.id == "unknown" else store.config.seed,
            f"{summary.get('env_steps', 0):,}",
            f"{summary.get('seconds', 0):,.0f}",
            number(summary.get("final_return"), ",.5g"),
            number(summary.get("best_return"), ",.5g"),
        )
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{title}</th>" for title in titles)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _events(store: Recorded) -> str:
    rows = "".join(
        f"<tr><td>{event['step']}</td><td>{escape(str(event['event']))}</td>"
        f"<td><code>{escape(json.dumps(_details(event)))}</code></td></tr>"
        for event in store.events()
    )
    head = "<tr><th>step</th><th>event</th><th>details</th></tr>"
    name = escape(store.path.name)
    return f"<details><summary>{name}</summary><table>{head}{rows}</table></details>"


def _details(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("event", "step")}


def _settings(store: Recorded) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in flatten(store.config.shown())
    )
    name = escape(store.path.name)
    return f"<details><summary>settings of {name}</summary><table>{rows}</table></details>"
