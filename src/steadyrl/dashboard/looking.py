"""What is said of a run, out of the cache as long as its files are what they were."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadyrl.core.machine import give_back_memory
from steadyrl.dashboard.folder import Found
from steadyrl.judging import QUIET_SECONDS, is_left, open_run
from steadyrl.store.kept import Kept, key_of, made_by
from steadyrl.store.kept_steps import KeptSteps
from steadyrl.store.reader import RunReader
from steadyrl.store.step_columns import StepColumns
from steadyrl.viewer.frame import plain
from steadyrl.views.brief import brief
from steadyrl.views.run import run_view

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

OWN = ("config.yaml", "steps.jsonl", "events.jsonl", "summary.json")
Stamp = tuple[tuple[int, int, int], ...]
ABSENT = (0, 0, 0)


class Looks:
    """Rows and pages of runs: read and judged once, and again when their files have changed."""

    def __init__(self, kept: Kept | None = None) -> None:
        self._kept = kept
        self._making: dict[str, threading.Lock] = {}  # by run

    def brief(self, one: Found) -> dict[str, Any]:
        """What a row says of a run."""
        found: dict[str, Any] = json.loads(
            self._once(one, "brief", lambda: plain(brief(self.opened(one)).to_json()))
        )
        return found

    def page(self, one: Found) -> tuple[int, str]:
        """All that a page shows of a run, as JSON, and how many Steps it is made of."""

        def made() -> str:
            steps = self.steps(one)
            store = self.opened(one, steps)
            text = plain(run_view(store, one.name).to_json())
            give_back_memory()
            return f"{steps.count if isinstance(store, RunReader) else 0}\n{text}"

        count, _, text = self._once(one, "page", made).partition("\n")
        return int(count), text

    def opened(self, one: Found, steps: StepColumns | None = None) -> Recorded:
        """The run, with as little reading as may be."""
        if one.kind == "run":
            return RunReader.open(one.path).taking_up(steps or self.steps(one))
        return open_run(one.path)

    def steps(self, one: Found) -> StepColumns:
        """Its Steps, taken up where they were read last."""
        file = one.path / "steps.jsonl"
        return KeptSteps(file, self._kept) if self._kept else StepColumns(file)

    def _once(self, one: Found, part: str, made: Callable[[], str]) -> str:
        """What is kept of it, or what is made now."""
        if self._kept is None:
            return made()
        key, known = key_of(one.path), f"{made_by()} {one.name} {stamp(one)}"
        found = self._kept.get(key, part, known)
        if found is not None:
            return found.decode()
        with self._making.setdefault(key, threading.Lock()):  # row and page read a run in turn
            found = self._kept.get(key, part, known)
            if found is not None:
                return found.decode()
            text = made()
            self._kept.put(key, {part: (known, text.encode(errors="replace"))})
            return text


def stamp(one: Found) -> Stamp:
    """What changes when a run grows, and when nobody writes it any more."""
    if one.kind == "run":
        files = tuple(_about(f"{one.path}/{name}") for name in OWN)
        newest = max(about[2] for about in files)
        if files[OWN.index("summary.json")][2] == newest:  # it has ended: nobody is missed
            return (*files, ABSENT)
        recent = time.time() - newest / 1e9 < 2 * QUIET_SECONDS
        return (*files, (int(recent and not is_left(one.path)), 0, 0))
    if one.kind == "foreign":
        try:
            names = sorted(entry.path for entry in os.scandir(one.path) if entry.is_file())
        except OSError:
            names = []
        return tuple(map(_about, names))
    return (_about(f"{one.path}/{one.kind}.json"),)


def heard(known: Stamp) -> float:
    """When the newest of its files was written."""
    return max((about[2] for about in known), default=0) / 1e9


def _about(file: str | Path) -> tuple[int, int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - ten thousand runs a second
    except OSError:
        return ABSENT
    return found.st_ino, found.st_size, found.st_mtime_ns
