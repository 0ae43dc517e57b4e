"""What is new of one run, as a stream: first all of it, then only what was added."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from steadyrl.core.coarsen import Columns
from steadyrl.core.errors import SteadyError
from steadyrl.core.records import number_to_json
from steadyrl.dashboard.folder import Found
from steadyrl.dashboard.looking import Looks, stamp
from steadyrl.store.step_columns import StepColumns
from steadyrl.viewer.frame import plain
from steadyrl.views.curves import POINTS, thin
from steadyrl.views.run import run_view

EVERY = 0.5  # seconds between two looks at the disk
JUDGED_EVERY = 5.0  # seconds between two verdicts on a run that goes on, at least
SLOWEST = 2.0  # seconds between two looks, however long one takes
SHARE = 200  # times as long as a look or a verdict takes: what is left for the training beside
QUIET = 15.0  # seconds after which a word is sent, to notice who has left
STILL_HERE = ": still here\n\n"
Sleep = Callable[[float], None]
UNREADABLE = (SteadyError, OSError, ValueError, KeyError, TypeError)


def event(kind: str, data: str) -> str:
    """One message of a stream: its data are JSON."""
    return f"event: {kind}\ndata: {data}\n\n"


def follow_run(one: Found, looks: Looks, sleep: Sleep = time.sleep) -> Iterator[str]:
    """The run as it grows; one that cannot be read is told so, and tried again when it changes."""
    while True:
        known = stamp(one)
        try:
            yield from _followed(one, looks, sleep)
        except UNREADABLE as error:
            yield event("problem", plain(f"{one.name} cannot be read: {error}"))
        while stamp(one) == known:
            sleep(QUIET)
            yield STILL_HERE


def _followed(one: Found, looks: Looks, sleep: Sleep) -> Iterator[str]:
    """The whole run, then its new Steps, and now and then what is said of it."""
    known = stamp(one)
    glanced = looks.glance(one)
    if glanced is not None:
        yield event("run", glanced.page(one.name))
    count, page = looks.page(one, glanced)
    del glanced  # its Steps would be held as long as somebody looks
    yield event("run", page)
    follower = _Follower(one, looks, count)
    spoken = time.monotonic()
    while True:
        sleep(follower.pause)
        now = stamp(one)
        messages = follower.news(changed=now != known)
        known = now
        if messages:
            spoken = time.monotonic()
            yield from messages
        elif time.monotonic() - spoken >= QUIET:
            spoken = time.monotonic()
            yield STILL_HERE


class _Follower:
    """Remembers what a page has been told."""

    def __init__(self, one: Found, looks: Looks, count: int) -> None:
        self._one, self._looks = one, looks
        self._steps: StepColumns | None = None  # read when the run grows
        self._count = self._drawn = count  # Steps that were sent; that the curves are made of
        self._due = time.monotonic() + JUDGED_EVERY
        self._pending = False  # something has changed since the last verdict
        self.pause = EVERY  # seconds until the next look

    def news(self, *, changed: bool) -> list[str]:
        """What to say now."""
        begun = time.monotonic()
        self._pending |= changed
        messages = []
        if changed and self._one.kind == "run":
            added = self._added()
            if added is None:  # another past: all is told anew
                self._drawn, self._due = -POINTS, 0.0
            elif len(added):
                messages.append(event("steps", plain(steps_added(added))))
        self.pause = min(max(EVERY, SHARE * (time.monotonic() - begun)), SLOWEST)
        if self._pending and time.monotonic() >= self._due:
            messages.append(self._judged())
        return messages

    def _added(self) -> Columns | None:
        """Steps since the last look; None if the record went back."""
        if self._steps is None:
            self._steps = self._looks.steps(self._one)
        rewound = self._steps.renew()
        if rewound or self._steps.count < self._count:
            return None
        added = self._steps.since(self._count)
        self._count = self._steps.count
        return added

    def _judged(self) -> str:
        """The verdict as it stands; with the curves, where they have grown too long or changed."""
        begun = time.monotonic()
        store = self._looks.opened(self._one, self._steps)
        # What is free again is kept: the next verdict needs as much, and comes soon.
        view = run_view(store, self._one.name).to_json()
        self._pending = False
        whole = self._one.kind != "run" or self._count - self._drawn > POINTS
        if whole:
            if self._steps is not None:
                self._count = self._drawn = self._steps.count
        else:
            del view["curves"]
        ended = time.monotonic()
        self._due = ended + max(JUDGED_EVERY, SHARE * (ended - begun))
        return event("run" if whole else "view", plain(view))


def steps_added(columns: Columns) -> dict[str, Any]:
    """New values by signal: where, and what; text where it is no number.

    Of very many at a time those that a chart would show: who was busy gets no flood.
    """
    added = {}
    for name, (positions, values) in columns.signals.items():
        if len(positions):
            kept = thin(values)
            y = [number_to_json(value) for value in values[kept].tolist()]
            added[name] = {"x": columns.takens[positions[kept]].tolist(), "y": y}
    return {"taken": int(columns.takens[-1]), "signals": added}
