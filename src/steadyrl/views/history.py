"""What happened to a run: the lane below its curves, its events in words, branches it left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadyrl.core.coarsen import Columns
from steadyrl.core.records import told_change
from steadyrl.store.intact import LARGEST, rises
from steadyrl.store.reader import RunReader
from steadyrl.store.step_columns import StepColumns
from steadyrl.verdict import Verdict
from steadyrl.views.curves import Curve, curve
from steadyrl.views.wording import event_in_words

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

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
    at = _taken_at(columns)
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
        kind, taken = event.get("event"), at(event.get("step"))
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


def _checkpoints(store: RunReader, at: Callable[[Any], int | None]) -> list[Mark]:
    reached = [
        (step, taken) for step in store.checkpoints.steps() if (taken := at(step)) is not None
    ]
    best = store.checkpoints.best()
    marks = []
    for step, taken in reached[-CHECKPOINTS:]:
        said = "checkpoint" if store.checkpoints.is_good(step) else "checkpoint, not marked good"
        said += ", the best" if best and best[0] == step else ""
        marks.append(Mark("checkpoint", taken, f"{said} (Step {step})"))
    return marks


def events_of(events: Sequence[Mapping[str, Any]], columns: Columns | None) -> list[Event]:
    """In words; of very many the first and the last."""
    at = _taken_at(columns)
    shown = [
        Event(
            step=str(event.get("step", "")),
            taken=at(event.get("step")),
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
        steps = StepColumns(file)
        steps.renew()
        columns = steps.columns()
        if columns is None:
            continue
        found = {n: columns.signals[n] for n in names if n in columns.signals}
        takens = columns.takens.astype(np.float64)
        branches.append({n: curve(takens[where], y) for n, (where, y) in found.items()})
    return branches


def _taken_at(columns: Columns | None) -> Callable[[Any], int | None]:
    """How far the run was at a Step of this number, if there is one."""
    if columns is None:
        return lambda step: 0 if step == 0 else None
    indices, takens = columns.indices, columns.takens
    if not rises(indices):
        order = np.argsort(indices, kind="stable")
        indices, takens = indices[order], takens[order]

    def find(step: Any) -> int | None:
        place = int(np.searchsorted(indices, step, side="right")) - 1 if _is_whole(step) else -1
        if place >= 0 and indices[place] == step:
            return int(takens[place])
        return 0 if step == 0 else None

    return find


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and abs(value) < LARGEST


def as_text(value: Any) -> str:
    """A setting's value as people write it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return value if isinstance(value, str) else json.dumps(value, default=str)
