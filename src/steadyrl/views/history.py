"""What happened to a run: the lane below its curves, its events in words, branches it left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadyrl.core.coarsen import Columns, columns_of
from steadyrl.core.records import told_change
from steadyrl.judging import Recorded
from steadyrl.store.files import JsonLines
from steadyrl.store.intact import is_step
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict
from steadyrl.views.curves import Curve, curve
from steadyrl.views.wording import event_in_words

SHOWN = 400  # events; the file has all of them
CHECKPOINTS = 60  # in the lane


@dataclass(frozen=True, slots=True)
class Mark:
    """Something on the lane: what kind, where (and from where), and what it says."""

    kind: str  # severe, warning, note, change, guard, checkpoint, fork, resumed
    taken: int
    text: str
    since: int | None = None  # of the guard: how far it had come when it went back


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the history."""

    step: str
    taken: int | None
    kind: str
    text: str


def marks_of(
    store: Recorded,
    verdict: Verdict,
    columns: Columns | None,
    events: Sequence[Mapping[str, Any]],
) -> list[Mark]:
    """Findings, changes, checkpoints, forks and returns of the guard, by where they stand."""
    at = _takens(columns)
    marks = [
        Mark(f.severity, f.taken, f"{f.rule} {f.name}: {f.message}")
        for f in (*verdict.findings, *verdict.machine)
    ]
    marks += [
        Mark("guard", action.taken, action.sentence, since=action.found_at)
        for action in verdict.interventions
    ]
    acted = {name for action in verdict.interventions for name in action.changes}
    for event in events:
        kind, taken = event.get("event"), at.get(_whole(event.get("step")))
        if taken is None:
            continue
        if kind == "change" and event.get("name") not in acted:
            said = told_change(str(event.get("name")), event.get("before"), event.get("after"))
            marks.append(Mark("change", taken, said))
        elif kind in ("forked", "resumed", "stopped early", "black box"):
            marks.append(Mark("fork" if kind == "forked" else "note", taken, event_in_words(event)))
    if isinstance(store, RunReader):
        marks += _checkpoints(store, at)
    return sorted(marks, key=lambda mark: mark.taken)


def _checkpoints(store: RunReader, at: Mapping[int, int]) -> list[Mark]:
    steps = [step for step in store.checkpoints.steps() if step in at][-CHECKPOINTS:]
    best = store.checkpoints.best()
    marks = []
    for step in steps:
        said = "checkpoint" if store.checkpoints.is_good(step) else "checkpoint, not marked good"
        said += ", the best" if best and best[0] == step else ""
        marks.append(Mark("checkpoint", at[step], f"{said} (Step {step})"))
    return marks


def events_of(events: Sequence[Mapping[str, Any]], columns: Columns | None) -> list[Event]:
    """In words; of very many the first and the last."""
    at = _takens(columns)
    shown = [
        Event(
            step=str(event.get("step", "")),
            taken=at.get(_whole(event.get("step"))),
            kind=str(event.get("event", "")),
            text=event_in_words(event),
        )
        for event in events
    ]
    if len(shown) <= SHOWN:
        return shown
    left_out = Event("", None, "", f"... {len(shown) - SHOWN} events, see events.jsonl ...")
    return [*shown[: SHOWN // 2], left_out, *shown[-SHOWN // 2 :]]


def abandoned(store: RunReader, names: Sequence[str]) -> list[dict[str, Curve]]:
    """What the guard went back from: the same signals of the Steps that were left."""
    branches = []
    for file in sorted(store.path.glob("abandoned-*.jsonl")):
        columns = columns_of(iter(JsonLines(file, is_step)))
        if columns is None:
            continue
        taken = np.array([head[1] for head in columns.heads], dtype=np.float64)
        found = {n: columns.signals[n] for n in names if n in columns.signals}
        branches.append({n: curve(taken[where], y) for n, (where, y) in found.items()})
    return branches


def _takens(columns: Columns | None) -> dict[int, int]:
    found = {index: taken for index, taken, _ in columns.heads} if columns else {}
    return {0: 0, **found}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else -1


def as_text(value: Any) -> str:
    """A setting's value as people write it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
