"""How far an experiment's runs are: read from their files, so it works for any engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from steadyrl.core.run_config import RunConfig
from steadyrl.report.console import PlainConsole

if TYPE_CHECKING:
    from steadyrl.experiments.executor import Executor

Item = TypeVar("Item")

LOOK_SECONDS = 1.0
PLAIN_SECONDS = 30.0  # between two lines when stderr is not a terminal
TAIL_BYTES = 32_768  # holds a Step or two


@dataclass(frozen=True)
class WatchedExecutor:
    """Another executor, with a progress bar of how far its runs have come."""

    inner: Executor

    @property
    def workers(self) -> int:
        """Those of the executor within."""
        return self.inner.workers

    def each(self, work: Callable[[Item], object], items: Sequence[Item]) -> Generator[Item]:
        """As the executor within does it, watched."""
        watch = _Watch([_run_of(item) for item in items])
        watch.start()
        try:
            with closing(self.inner.each(work, items)) as finished:
                for item in finished:
                    watch.finished += 1
                    yield item
        finally:
            watch.stop()


def _run_of(item: Any) -> tuple[Path | None, int]:
    config = getattr(item, "config", None)
    return getattr(item, "directory", None), config.budget if isinstance(config, RunConfig) else 0


class _Watch:
    """A thread that looks at the runs' files now and then."""

    def __init__(self, runs: Sequence[tuple[Path | None, int]]) -> None:
        self._runs = runs
        self._total = sum(total for _, total in runs)
        self._console = PlainConsole(stderr=True)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.finished = 0

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        bar = Progress(
            TextColumn("{task.fields[runs]}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        task = bar.add_task("", total=self._total or len(self._runs), runs="")
        began, spoken = time.monotonic(), time.monotonic()
        before = self._taken()
        with bar:
            while not self._over.wait(LOOK_SECONDS):
                taken = self._taken()
                runs = f"{self.finished} of {len(self._runs)} runs"
                bar.update(task, completed=taken if self._total else self.finished, runs=runs)
                now = time.monotonic()
                if not self._console.is_terminal and now - spoken > PLAIN_SECONDS:
                    spoken = now
                    left = estimate(taken - before, self._total - taken, now - began)
                    share = taken / self._total if self._total else 0.0
                    self._console.print(f"  {runs}, {share:.0%} of the steps, {left}")

    def _taken(self) -> int:
        return sum(min(steps_taken(path), total) for path, total in self._runs if path is not None)


def estimate(done: int, left: int, seconds: float) -> str:
    """How long what is left will take at the pace of what was done."""
    if done <= 0:
        return "no estimate yet"
    minutes = left * seconds / done / 60
    return "less than a minute left" if minutes < 1 else f"about {minutes:.0f} min left"


def steps_taken(path: Path) -> int:
    """How far a run's last recorded Step is, from the end of its file; 0 if there is none."""
    try:
        with (path / "steps.jsonl").open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            lines = file.read().split(b"\n")
        # The piece after the last line end is torn or empty.
        return int(orjson.loads(lines[-2])["taken"])
    except (OSError, ValueError, IndexError, KeyError):
        return 0
