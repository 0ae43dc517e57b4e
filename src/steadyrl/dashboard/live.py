"""What is new of one run, as a stream: first all of it, then only what was added."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from steadyrl.core.records import number_to_json
from steadyrl.dashboard.fleet import stamp
from steadyrl.dashboard.folder import Found
from steadyrl.judging import open_run
from steadyrl.live_judge import LiveJudge
from steadyrl.store.intact import is_step
from steadyrl.store.reader import RunReader
from steadyrl.store.tail import Tail
from steadyrl.viewer.frame import plain
from steadyrl.views.run import run_view

EVERY = 1.0
JUDGED_EVERY = 3.0  # seconds between two verdicts on a run that goes on
QUIET = 15.0  # seconds after which a word is sent, to notice who has left
Sleep = Callable[[float], None]


def event(kind: str, data: Any) -> str:
    """One message of a stream."""
    return f"event: {kind}\ndata: {plain(data)}\n\n"


def follow_run(one: Found, sleep: Sleep = time.sleep) -> Iterator[str]:
    """The whole run, then its new Steps, and now and then what is said of it."""
    store = open_run(one.path)
    if not isinstance(store, RunReader):
        yield from _follow_foreign(one, sleep)
        return
    tail = Tail(one.path / "steps.jsonl", is_step)
    judge = LiveJudge(store)
    tail.new()
    judge.judged()
    yield event("run", run_view(store, one.name).to_json())
    told = spoken = time.monotonic()
    pending = False
    while True:
        records, rewound = tail.new()
        now = time.monotonic()
        if rewound:
            yield event("run", run_view(RunReader.open(one.path), one.name).to_json())
            told = spoken = now
        elif records:
            yield event("steps", steps_added(records))
            spoken, pending = now, True
        if now - told >= JUDGED_EVERY and (judge.judged() is not None or pending):
            told, spoken, pending = now, now, False
            yield event("view", _without_curves(RunReader.open(one.path), one.name))
        if now - spoken >= QUIET:
            spoken = now
            yield ": still here\n\n"
        sleep(EVERY)


def _follow_foreign(one: Found, sleep: Sleep) -> Iterator[str]:
    """Of other programs' logs all is read again when they grow: they have no common form."""
    known = None
    spoken = time.monotonic()
    while True:
        now = stamp(one)
        if now != known:
            known, spoken = now, time.monotonic()
            yield event("run", run_view(open_run(one.path), one.name).to_json())
        elif time.monotonic() - spoken >= QUIET:
            spoken = time.monotonic()
            yield ": still here\n\n"
        sleep(5 * EVERY)


def steps_added(records: list[dict[str, Any]]) -> dict[str, Any]:
    """New values by signal: where, and what; text where it is no number."""
    added: dict[str, dict[str, list[Any]]] = {}
    for record in records:
        for name, value in record["signals"].items():
            series = added.setdefault(name, {"x": [], "y": []})
            series["x"].append(record["taken"])
            series["y"].append(number_to_json(float(value)))
    return {"taken": records[-1]["taken"], "signals": added}


def _without_curves(store: RunReader, name: str) -> dict[str, Any]:
    view = run_view(store, name).to_json()
    return {key: value for key, value in view.items() if key != "curves"}
