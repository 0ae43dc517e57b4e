"""What is said of a run, out of the cache as long as its files are what they were."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steadyrl.core.coarsen import Columns
from steadyrl.core.machine import give_back_memory
from steadyrl.dashboard.folder import ABSENT, OWN, About, Found, about_file
from steadyrl.judging import QUIET_SECONDS, is_left, open_run
from steadyrl.store.foreign.beside import files_beside
from steadyrl.store.kept import Kept, key_of, made_by
from steadyrl.store.kept_steps import LONG, KeptSteps
from steadyrl.store.reader import RunReader
from steadyrl.store.step_columns import StepColumns
from steadyrl.viewer.frame import plain
from steadyrl.views.brief import brief
from steadyrl.views.curves import Curve, curves_of
from steadyrl.views.glance import glance
from steadyrl.views.looked import look_at
from steadyrl.views.run import lay_out, run_view

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

Stamp = tuple[About, ...]


@dataclass(frozen=True)
class Glance:
    """A run that was read and is not judged yet."""

    store: Recorded
    stamped: str  # its files as they were before they were read
    columns: Columns | None
    count: int  # of its Steps, if it is ours
    curves: Mapping[str, Curve]

    def page(self, name: str) -> str:
        """What can be shown of it, as JSON."""
        return plain(glance(self.store, name, self.columns, self.curves).to_json())


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

    def glance(self, one: Found) -> Glance | None:
        """The curves of a long run that nobody looked at yet; of others the page is there soon."""
        stamped = _stamped(one)
        if not is_long(stamp(one)) or self._known(one, "page", stamped) is not None:
            return None
        with self._turn(one):
            steps = self.steps(one)
            store = self.opened(one, steps)
            columns = store.columns() if isinstance(store, RunReader) else None
            return Glance(store, stamped, columns, steps.count, curves_of(store, columns))

    def page(self, one: Found, glanced: Glance | None = None) -> tuple[int, str]:
        """All that a page shows of a run, as JSON, and how many Steps it is made of."""

        def made() -> str:
            if glanced is None:
                steps = self.steps(one)
                store = self.opened(one, steps)
                text, count = plain(run_view(store, one.name).to_json()), steps.count
            else:
                store, count = glanced.store, glanced.count
                looked = look_at(store, glanced.columns)
                text = plain(lay_out(store, one.name, looked, glanced.curves).to_json())
            give_back_memory()
            return f"{count if isinstance(store, RunReader) else 0}\n{text}"

        stamped = glanced.stamped if glanced else ""
        count, _, text = self._once(one, "page", made, stamped).partition("\n")
        return int(count), text

    def opened(self, one: Found, steps: StepColumns | None = None) -> Recorded:
        """The run, with as little reading as may be."""
        if one.kind == "run":
            return RunReader.open(one.path).taking_up(steps or self.steps(one))
        return open_run(one.path, within=one.root)

    def steps(self, one: Found) -> StepColumns:
        """Its Steps, taken up where they were read last."""
        file = one.path / "steps.jsonl"
        return KeptSteps(file, self._kept) if self._kept else StepColumns(file)

    def _once(self, one: Found, part: str, made: Callable[[], str], stamped: str = "") -> str:
        """What is kept of it, or what is made now; `stamped`: of the files that it is made from."""
        if self._kept is None:
            return made()
        stamped = stamped or _stamped(one)
        found = self._known(one, part, stamped)
        if found is not None:
            return found
        with self._turn(one):
            found = self._known(one, part, stamped)
            if found is not None:
                return found
            text = made()
            self._kept.put(key_of(one.path), {part: (stamped, text.encode(errors="replace"))})
            return text

    def _known(self, one: Found, part: str, stamped: str) -> str | None:
        """What is kept of it, if its files are what they were."""
        found = self._kept.get(key_of(one.path), part, stamped) if self._kept else None
        return found.decode() if found is not None else None

    def _turn(self, one: Found) -> threading.Lock:
        """Row and page read a run in turn."""
        return self._making.setdefault(key_of(one.path), threading.Lock())


def _stamped(one: Found) -> str:
    return f"{made_by()} {one.name} {stamp(one)}"


def stamp(one: Found, files: tuple[About, ...] = ()) -> Stamp:
    """What changes when a run grows, and when nobody writes it any more.

    `files`: those of a run of ours, if they have just been asked for.
    """
    if one.kind == "run":
        files = files or tuple(_about(f"{one.path}/{name}") for name in OWN)
        newest = max(about[2] for about in files)
        if files[OWN.index("summary.json")][2] == newest:  # it has ended: nobody is missed
            return (*files, ABSENT)
        recent = time.time() - newest / 1e9 < 2 * QUIET_SECONDS
        return (*files, (int(recent and not is_left(one.path)), 0, 0))
    if one.kind == "foreign":
        try:
            names = {entry.path for entry in os.scandir(one.path) if entry.is_file()}
            names |= set(map(str, files_beside(one.path, one.root)))  # settings count as well
        except OSError:
            names = set()
        return tuple(map(_about, sorted(names)))
    return (_about(f"{one.path}/{one.kind}.json"),)


def is_long(known: Stamp) -> bool:
    """Whether one would wait for the verdict."""
    return sum(about[1] for about in known) >= LONG


def heard(known: Stamp) -> float:
    """When the newest of its files was written."""
    return max((about[2] for about in known), default=0) / 1e9


def _about(file: str) -> About:
    try:
        return about_file(os.stat(file))  # noqa: PTH116 - ten thousand runs a second
    except OSError:
        return ABSENT
