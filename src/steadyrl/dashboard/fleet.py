"""All runs of a folder, a row each: judged one after the other, again when they grow."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steadyrl.core.errors import SteadyError
from steadyrl.dashboard.folder import Folder, Found
from steadyrl.judging import open_run
from steadyrl.views.brief import Brief, brief

EVERY = 1.0  # seconds between two looks at the disk
WALK = 5.0  # seconds between two searches for new runs
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
Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Row:
    """One run of the fleet; what is said of it comes when it was judged."""

    id: str
    name: str
    kind: str
    heard: float
    brief: Brief | None = None
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        said = {**UNKNOWN, "heard": self.heard, "told": self.problem}
        if self.problem:
            said["headline"] = "cannot be read"
        elif self.kind not in RUNS:
            said["headline"] = self.kind
        if self.brief:
            said = self.brief.to_json()
        return {
            "id": self.id,
            "name": self.name,
            "group": group_of(self.name),  # its name without the seed
            "kind": self.kind,
            **said,
        }


class Fleet:
    """The rows, kept fresh by one thread; readers take what is there."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.found: dict[str, Found] = {}
        self.rows: dict[str, Row] = {}
        self.version = 0
        self._changed: dict[str, int] = {}  # by id: the version of its row
        self._stamps: dict[str, Stamp] = {}
        self._wanted: list[str] = []
        self._walked = -WALK
        self._lock = threading.Lock()

    def start(self) -> None:
        """Look for as long as the process lives."""
        threading.Thread(target=self._forever, daemon=True).start()

    def wanted(self, ids: Iterable[str]) -> None:
        """Rows that somebody sees: they are judged first."""
        self._wanted = list(ids)

    def since(self, version: int) -> tuple[int, list[dict[str, Any]], list[str]]:
        """Rows that changed after a version, and the ids of all there are."""
        with self._lock:
            changed = [i for i, at in self._changed.items() if at > version and i in self.rows]
            return self.version, [self.rows[i].to_json() for i in changed], list(self.rows)

    def get(self, identity: str) -> Found | None:
        """A run or result by its id."""
        return self.found.get(identity)

    def renew(self, most: int | None = None) -> int:
        """Find what is new, judge what has grown; returns how many runs were judged."""
        if time.monotonic() - self._walked >= WALK:
            self._search()
            self._walked = time.monotonic()
        stale = self._stale()
        for identity in stale[:most]:
            self._judge(self.found[identity])
        return len(stale[:most])

    def _forever(self) -> None:
        while True:
            if not self.renew(most=4):
                time.sleep(EVERY)

    def _search(self) -> None:
        found = self.folder.look()
        with self._lock:
            gone = self.rows.keys() - found.keys()
            for identity in gone:
                del self.rows[identity]
                self._stamps.pop(identity, None)
            self.version += bool(gone)
            self.found = found
            for identity, one in found.items():
                if identity not in self.rows:
                    self._put(Row(identity, one.name, one.kind, _heard(one)))

    def _put(self, row: Row) -> None:
        self.version += 1
        self.rows[row.id] = row
        self._changed[row.id] = self.version

    def _stale(self) -> list[str]:
        """Runs that grew since they were judged: those on somebody's screen first, then newest."""
        stale = {i for i, one in self.found.items() if stamp(one) != self._stamps.get(i)}
        seen = [identity for identity in self._wanted if identity in stale]
        rest = sorted(stale - set(seen), key=lambda i: -self.rows[i].heard)
        return [*seen, *rest]

    def _judge(self, one: Found) -> None:
        self._stamps[one.id] = stamp(one)
        said, problem = None, ""
        if one.kind in RUNS:
            try:
                said = brief(open_run(one.path))
            except (SteadyError, OSError, ValueError, KeyError, TypeError) as error:
                problem = str(error)
        with self._lock:
            self._put(Row(one.id, one.name, one.kind, _heard(one), said, problem))


def worst_first(rows: Collection[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sick ones on top, and of equals the one heard of last."""
    return sorted(rows, key=lambda row: (ORDER.get(row["tone"], 3), -row["heard"]))


def group_of(name: str) -> str:
    """A run's name without its seed."""
    return re.sub(r"[-_ ]?seed[-_ ]?\d+", "", name, flags=re.IGNORECASE) or name


def stamp(one: Found) -> Stamp:
    """What changes when a run grows."""
    if one.kind == "run":
        files = [one.path / name for name in ("steps.jsonl", "events.jsonl", "summary.json")]
    elif one.kind == "foreign":
        try:
            files = sorted(file for file in one.path.iterdir() if file.is_file())
        except OSError:
            files = []
    else:
        files = [one.path / f"{one.kind}.json"]
    return tuple(_size_and_time(file) for file in files)


def _heard(one: Found) -> float:
    return max((time_ns for _, time_ns in stamp(one)), default=0) / 1e9


def _size_and_time(file: Path) -> tuple[int, int]:
    try:
        about = file.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns
