"""Which runs and results a folder holds, found without leaving it, under names nobody can forge."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Literal

from steadyrl.store.foreign.finding import TABLES
from steadyrl.store.foreign.tables import EVALUATIONS
from steadyrl.store.results import FILES
from steadyrl.store.results import Kind as ResultKind

DEPTH = 8
MOST = 20_000  # runs
LARGEST = 2 << 30  # bytes of one file that is read here

OWN = ("config.yaml", "steps.jsonl", "events.jsonl", "summary.json")  # of a run of ours

Kind = Literal["run", "foreign"] | ResultKind
About = tuple[int, int, int]  # a file's number on the disk, size and time
ABSENT: About = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Found:
    """A run or a result: an id that says nothing of the disk, its path and its name."""

    id: str
    path: Path
    name: str
    kind: Kind
    root: Path  # of the folder that is served: nothing is read outside of it
    files: tuple[About, ...] = field(default=(), compare=False)  # of OWN, as they were found


@dataclass
class Folder:
    """What is served: this folder, and nothing outside of it."""

    root: Path
    skipped: dict[str, str] = field(default_factory=dict)  # by name: why it is not read
    called: str = field(init=False)  # as it was named

    def __post_init__(self) -> None:
        self.called, self.root = str(self.root), self.root.resolve()

    def look(self) -> dict[str, Found]:
        """Everything that is there now, by id."""
        self.skipped = {}
        found: dict[str, Found] = {}
        for name, kind, files in self._walk("", 0):
            if len(found) >= MOST:
                self.skipped["..."] = f"more than {MOST:,} runs: only so many are shown"
                break
            shown = name or self.root.name
            identity = hashlib.sha256(f"{kind}:{shown}".encode(errors="replace")).hexdigest()[:16]
            found[identity] = Found(identity, Path(self._at(name)), shown, kind, self.root, files)
        return found

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}" if name else str(self.root)

    def _walk(self, folder: str, depth: int) -> Iterator[tuple[str, Kind, tuple[About, ...]]]:
        """Names below the root, with few questions to the disk: there may be ten thousand."""
        try:
            with os.scandir(self._at(folder)) as listed:
                entries = sorted(listed, key=_name)
        except OSError as error:
            self._skip(folder, f"cannot be read: {error.strerror}")
            return
        names = set(map(_name, entries))
        kind = kind_of(names)
        if kind is not None:
            problem = self._problem(entries)
            if problem:
                self._skip(folder, problem)
            else:
                yield folder, kind, _own(entries) if kind == "run" else ()
        for name, result in FILES.items():
            if name in names and not self._problem([e for e in entries if e.name == name]):
                yield folder, result, ()
        if kind != "run":  # its TensorBoard mirror is not another run
            yield from self._below(folder, entries, depth)

    def _below(
        self, folder: str, entries: list[os.DirEntry[str]], depth: int
    ) -> Iterator[tuple[str, Kind, tuple[About, ...]]]:
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                if entry.is_symlink() and Path(entry.path).is_dir():
                    self._skip(name, "a link to a folder is not followed")
            elif depth >= DEPTH:
                self._skip(name, f"deeper than {DEPTH} folders")
            else:
                yield from self._walk(name, depth + 1)

    def _problem(self, entries: list[os.DirEntry[str]]) -> str:
        """Why a folder's files must not be opened: pipes and devices, links out, giants."""
        for entry in entries:
            try:
                if entry.is_dir():
                    continue
                about = entry.stat()
                if not stat.S_ISREG(about.st_mode):
                    return f"{entry.name} is no ordinary file"
                if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(self.root):
                    return f"{entry.name} leads out of the folder"
                if about.st_size > LARGEST:
                    return f"{entry.name} is larger than {LARGEST >> 30} GB"
            except OSError:
                return f"{entry.name} cannot be looked at"
        return ""

    def _skip(self, name: str, why: str) -> None:
        if len(self.skipped) < 100:
            self.skipped[name or "."] = why


_name = attrgetter("name")


def about_file(known: os.stat_result) -> About:
    """What changes when a file is written."""
    return known.st_ino, known.st_size, known.st_mtime_ns


def _own(entries: list[os.DirEntry[str]]) -> tuple[About, ...]:
    """What is known of a run's files; the entries remember what they were asked."""
    known = {entry.name: about_file(entry.stat()) for entry in entries if entry.name in OWN}
    return tuple(known.get(name, ABSENT) for name in OWN)


def kind_of(names: set[str]) -> Kind | None:
    """What a folder with such files is."""
    if "config.yaml" in names and names & {"steps.jsonl", "events.jsonl"}:
        return "run"
    if names & {*TABLES, EVALUATIONS}:
        return "foreign"
    if any(name.endswith("monitor.csv") or "tfevents" in name for name in names):
        return "foreign"
    return None
