"""Which runs and results a folder holds, found without leaving it, under names nobody can forge."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steadyrl.store.foreign.finding import TABLES
from steadyrl.store.foreign.tables import EVALUATIONS
from steadyrl.store.results import FILES
from steadyrl.store.results import Kind as ResultKind

DEPTH = 8
MOST = 20_000  # runs
LARGEST = 2 << 30  # bytes of one file that is read here

Kind = Literal["run", "foreign"] | ResultKind


@dataclass(frozen=True, slots=True)
class Found:
    """A run or a result: an id that says nothing of the disk, its path and its name."""

    id: str
    path: Path
    name: str
    kind: Kind


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
        for path, kind in self._walk(self.root, 0):
            if len(found) >= MOST:
                self.skipped["..."] = f"more than {MOST:,} runs: only so many are shown"
                break
            name = str(path.relative_to(self.root)) if path != self.root else path.name
            identity = hashlib.sha256(f"{kind}:{name}".encode(errors="replace")).hexdigest()[:16]
            found[identity] = Found(identity, path, name, kind)
        return found

    def _walk(self, folder: Path, depth: int) -> Iterator[tuple[Path, Kind]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._skip(folder, f"cannot be read: {error.strerror}")
            return
        names = {entry.name for entry in entries}
        kind = kind_of(names)
        if kind is not None:
            problem = self._problem(entries)
            if problem:
                self._skip(folder, problem)
            else:
                yield folder, kind
        for name, result in FILES.items():
            if name in names and not self._problem([e for e in entries if e.name == name]):
                yield folder, result
        if kind != "run":  # its TensorBoard mirror is not another run
            yield from self._below(entries, depth)

    def _below(self, entries: list[os.DirEntry[str]], depth: int) -> Iterator[tuple[Path, Kind]]:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                if entry.is_symlink() and Path(entry.path).is_dir():
                    self._skip(Path(entry.path), "a link to a folder is not followed")
            elif depth >= DEPTH:
                self._skip(Path(entry.path), f"deeper than {DEPTH} folders")
            else:
                yield from self._walk(Path(entry.path), depth + 1)

    def _problem(self, entries: list[os.DirEntry[str]]) -> str:
        """Why a folder's files must not be opened: pipes and devices, links out, giants."""
        for entry in entries:
            try:
                about = entry.stat()
                if stat.S_ISDIR(about.st_mode):
                    continue
                if not stat.S_ISREG(about.st_mode):
                    return f"{entry.name} is no ordinary file"
                if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(self.root):
                    return f"{entry.name} leads out of the folder"
                if about.st_size > LARGEST:
                    return f"{entry.name} is larger than {LARGEST >> 30} GB"
            except OSError:
                return f"{entry.name} cannot be looked at"
        return ""

    def _skip(self, path: Path, why: str) -> None:
        if len(self.skipped) < 100:
            self.skipped[str(path.relative_to(self.root))] = why


def kind_of(names: set[str]) -> Kind | None:
    """What a folder with such files is."""
    if "config.yaml" in names and names & {"steps.jsonl", "events.jsonl"}:
        return "run"
    if names & {*TABLES, EVALUATIONS}:
        return "foreign"
    if any(name.endswith("monitor.csv") or "tfevents" in name for name in names):
        return "foreign"
    return None
