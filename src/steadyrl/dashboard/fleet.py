"""All runs of a folder, a row each: judged one after the other, again when they grow."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from steadyrl.dashboard.folder import Folder, Found
from steadyrl.dashboard.live import UNREADABLE
from steadyrl.dashboard.looking import Looks, Stamp, heard, is_long, stamp
from steadyrl.dashboard.results import result_said

EVERY = 1.0  # seconds between two looks at the disk
WALK = 5.0  # seconds between two searches for new runs
SHARE = 10  # times as long as a verdict or a search takes: until the next
RECENT = 600.0  # seconds; runs that were silent for longer are looked at in turns
TURNS = 10
RUNS = ("run", "foreign")
UNKNOWN: dict[str, Any] = {
    "tone": "",
    "headline": "...",
    "told": "",
    "onset": None,
    "cause": "",
    "confidence": None,
    "spark": None,
    "eta_seconds": None,
    "taken": 0,
    "budget": 0,
}
ORDER = {"bad": 0, "doubtful": 1, "unknown": 2, "": 3, "good": 4}
WAITING = 5  # what nobody judged yet: below what can be read


@dataclass(frozen=True)
class Row:
    """One run of the fleet; what is said of it comes when it was judged."""

    id: str
    name: str
    kind: str
    heard: float
    said: Mapping[str, Any] | None = None
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        said = {**UNKNOWN, "heard": self.heard, "told": self.problem}
        if self.problem:
            said["headline"] = "cannot be read"
        elif self.kind not in RUNS:
            said["headline"] = self.kind
        return {
            "id": self.id,
            "name": self.name,
            "group": group_of(self.name),  # its name without the seed
            "kind": self.kind,
            **said,
            **(self.said or {}),
        }


class Fleet:
    """The rows, kept fresh by one thread; readers take what is there."""

    def __init__(self, folder: Folder, looks: Looks | None = None) -> None:
        self.folder, self.looks = folder, looks or Looks()
        self.found: dict[str, Found] = {}
        self.rows: dict[str, Row] = {}
        self.version = 0
        self._changed: dict[str, int] = {}  # by id: the version of its row
        self._stamps: dict[str, Stamp] = {}  # as they were when it was judged
        self._now: dict[str, Stamp] = {}  # as they are
        self._wanted: list[str] = []
        self._watchers = 0
        self._walked = self._looked = -WALK
        self._walk_took = 0.0  # seconds
        self._turn = 0
        self._lock, self._searching = threading.Lock(), threading.Lock()
        self._called = threading.Event()  # somebody has begun to look

    def start(self) -> None:
        """Look for as long as the process lives."""
        threading.Thread(target=self._forever, daemon=True).start()

    def wanted(self, ids: Iterable[str]) -> None:
        """Rows that somebody sees: they are judged first."""
        self._wanted = list(ids)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Somebody looks: long runs are judged, and all that grow again, as long as that is so."""
        with self._lock:
            self._watchers += 1
        self._called.set()
        try:
            yield
        finally:
            with self._lock:
                self._watchers -= 1

    def since(self, version: int) -> tuple[int, list[dict[str, Any]], list[str]]:
        """Rows that changed after a version, and the ids of all there are."""
        with self._lock:
            changed = [i for i, at in self._changed.items() if at > version and i in self.rows]
            return self.version, [self.rows[i].to_json() for i in changed], list(self.rows)

    def some(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        """The rows of these ids."""
        with self._lock:
            return [self.rows[i].to_json() for i in ids if i in self.rows]

    def get(self, identity: str) -> Found | None:
        """A run or result by its id; one that has just been begun is looked for at once."""
        if identity not in self.found:
            self._search_after(EVERY)
        return self.found.get(identity)

    def renew(self, most: int | None = None) -> int:
        """Find what is new, judge what has grown; returns how many runs were judged."""
        self._search_after(WALK)
        if time.monotonic() - self._looked >= EVERY:
            self._look()
            self._looked = time.monotonic()
        stale = self._stale()[:most]
        for identity in stale:
            self._judge(self.found[identity])
        return len(stale)

    def _forever(self) -> None:
        while True:
            begun = time.monotonic()
            judged = self.renew(most=4)
            self._called.wait(self.pause(judged, time.monotonic() - begun))
            self._called.clear()

    def pause(self, judged: int, took: float) -> float:
        """Seconds until the next round: none as long as there are runs that nobody judged yet.

        Otherwise whoever trains beside it has the better right to the processor.
        """
        if self._new():
            return 0.0
        return max(EVERY, SHARE * took) if judged else EVERY

    def _search_after(self, seconds: float) -> None:
        """Find what is new, unless that was done so lately; in large folders less often."""
        with self._searching:
            begun = time.monotonic()
            if begun - self._walked >= max(seconds, SHARE * self._walk_took):
                self._search()
                self._walked = time.monotonic()
                self._walk_took = self._walked - begun

    def _search(self) -> None:
        found = self.folder.look()
        stamps = {i: stamp(one, one.files) for i, one in found.items() if i not in self.rows}
        with self._lock:
            gone = self.rows.keys() - found.keys()
            for identity in gone:
                del self.rows[identity]
                self._stamps.pop(identity, None)
                self._now.pop(identity, None)
            self.version += bool(gone)
            self.found = found
            for identity, one in found.items():
                if identity in stamps:
                    self._now[identity] = stamps[identity]
                    self._put(Row(identity, one.name, one.kind, heard(self._now[identity])))
        if len(stamps) == len(found):
            self._looked = time.monotonic()  # all of them just now

    def _look(self) -> None:
        """At every run that was heard of lately, and at the others in turns."""
        self._turn += 1
        lately = time.time() - RECENT
        seen = set(self._wanted)
        for number, (identity, one) in enumerate(self.found.items()):
            recent = heard(self._now[identity]) >= lately or identity in seen
            if recent or (number + self._turn) % TURNS == 0:
                self._now[identity] = stamp(one)

    def _put(self, row: Row) -> None:
        self.version += 1
        self.rows[row.id] = row
        self._changed[row.id] = self.version

    def _stale(self) -> list[str]:
        """Runs to judge: those on somebody's screen first, then what nobody judged yet, newest.

        What has grown since is judged again only while somebody looks.
        """
        new, grown = self._new(), set[str]()
        if self._watchers:
            grown = {i for i, known in self._stamps.items() if self._now.get(i, known) != known}
        first = [i for i in self._wanted if i in new or i in grown]
        rest = (new | grown) - set(first)
        return [*first, *sorted(rest, key=lambda i: (i in grown, -self.rows[i].heard))]

    def _new(self) -> set[str]:
        """Runs that nobody judged yet; long ones only while somebody looks.

        Whoever opens a long run has the processor for its page.
        """
        new = {i for i in self.found if i not in self._stamps}
        return new if self._watchers else {i for i in new if not is_long(self._now[i])}

    def _judge(self, one: Found) -> None:
        self._stamps[one.id] = self._now[one.id] = stamp(one)
        said: dict[str, Any] | None = None
        problem = ""
        if one.kind in RUNS:
            try:
                said = self.looks.brief(one)
            except UNREADABLE as error:
                problem = str(error)
        else:
            said = result_said(one)
        with self._lock:
            self._put(Row(one.id, one.name, one.kind, heard(self._now[one.id]), said, problem))


def worst_first(rows: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sick ones on top, and of equals the one heard of last."""
    return sorted(rows, key=lambda row: (_rank(row), -row["heard"]))


def _rank(row: Mapping[str, Any]) -> int:
    return WAITING if row["headline"] == UNKNOWN["headline"] else ORDER.get(row["tone"], 3)


def group_of(name: str) -> str:
    """A run's name without its seed."""
    return re.sub(r"[-_ ]?seed[-_ ]?\d+", "", name, flags=re.IGNORECASE) or name
