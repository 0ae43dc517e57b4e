"""Progress of a training on stderr: a live view on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape

from steadyrl.core.records import Finding, Intervention, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.report.console import PlainConsole
from steadyrl.report.findings import COLORS, print_intervention
from steadyrl.report.fitting import say
from steadyrl.report.live import clock, draw
from steadyrl.views.under_way import UnderWay

if TYPE_CHECKING:
    from steadyrl.run import Observers

PLAIN_SECONDS = 15.0  # between two lines where nothing can be redrawn
FRAME_SECONDS = 0.5  # between two frames, at least
LONGEST_SECONDS = 60.0  # and at most, however little work a busy machine lets it do
SHARE = 1 / 300  # of the work that may be drawing: a process that gets little draws less

LOGGER = logging.getLogger("steadyrl")  # where the trainers tell of work before the first Step


def can_redraw(console: Console, environment: Mapping[str, str] | None = None) -> bool:
    """Whether there is a terminal that can go back up: no pipe, no file, no CI, no dumb one.

    Asked of the file itself too: FORCE_COLOR makes rich take any file for a terminal.
    """
    environment = os.environ if environment is None else environment
    if not console.is_terminal or console.is_dumb_terminal or environment.get("CI"):
        return False
    return bool(getattr(console.file, "isatty", lambda: False)())


class _Notes(logging.Handler):
    """What trainers tell, on the console."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        say(self._console, escape(record.getMessage()))


def is_due(cost: float, worked: float, waited: float) -> bool:
    """Whether to draw again: after a frame of such a cost, so much work and so long a time."""
    return SHARE * worked >= cost or waited >= LONGEST_SECONDS


class Frames(threading.Thread):
    """Draws a run again and again, at most twice a second and never for long.

    A thread of its own: a Step may take minutes, and the clock should not stand still meanwhile.
    """

    def __init__(self, run: UnderWay, console: Console) -> None:
        super().__init__(daemon=True, name="steadyrl live view")
        self._run, self._console = run, console
        self._over = threading.Event()
        self._width = console.width
        self._live = Live(
            console=console, auto_refresh=False, get_renderable=self._frame, transient=True
        )
        self._live.start()

    def _frame(self) -> Group:
        return Group(*draw(self._run, self._console.width))

    def run(self) -> None:
        """Until it is told to end, or the terminal is gone: training does not depend on it."""
        cost, worked, drawn = 0.0, time.process_time(), time.monotonic()
        while not self._over.wait(FRAME_SECONDS):
            if not is_due(cost, time.process_time() - worked, time.monotonic() - drawn):
                continue
            began, worked, drawn = time.thread_time(), time.process_time(), time.monotonic()
            try:
                self.refresh()
            except (OSError, ValueError):
                return
            cost = time.thread_time() - began

    def refresh(self) -> None:
        """Draw it as it is now."""
        self._follow_width()
        self._live.refresh()

    def _follow_width(self) -> None:
        """A terminal that became narrower has wrapped the last frame: more rows must go."""
        width, before = self._console.width, self._width
        self._width = width
        if width < before:
            rows = sum(-(-line.cell_len // width) or 1 for line in draw(self._run, before))
            self._live._live_render._shape = (width, rows)

    def end(self) -> None:
        """Leave the terminal as it was found."""
        self._over.set()
        if self.is_alive():
            self.join()
        with suppress(OSError, ValueError):
            self._live.stop()


class TrainingProgress:
    """Shows where a run stands; its methods are a run's observers.

    `past` are the Steps of a run that goes on: it is shown as a whole.
    """

    def __init__(
        self,
        title: str,
        config: RunConfig,
        *,
        quiet: bool = False,
        past: Callable[[], Iterable[Step]] = tuple,
        console: Console | None = None,
    ) -> None:
        self._console = console or PlainConsole(stderr=True, quiet=quiet)
        self._redraws = not quiet and can_redraw(self._console)
        self._view = UnderWay(title, config, past=() if quiet else past())
        self._frames: Frames | None = None
        self._last_line = time.monotonic()
        self._said = ""
        self._notes = _Notes(self._console)

    def __enter__(self) -> Self:
        LOGGER.addHandler(self._notes)
        LOGGER.setLevel(logging.INFO)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        LOGGER.removeHandler(self._notes)
        if self._frames is not None:
            self._frames.end()

    def show_beginning(self, path: Path) -> None:
        """The run has a folder. Not drawn before: environments may still be forking processes."""
        self._view.note_beginning(path)
        if self._redraws and self._frames is None:
            self._frames = Frames(self._view, self._console)
            self._frames.start()

    def show_step(self, step: Step) -> None:
        """Where it stands now."""
        view, evaluated = self._view, "eval.return_mean" in step.signals
        view.observe(step)
        if said := describe_step(step):
            self._said = said
        view.news = self._said if "aged.size" in step.signals else ""
        overdue = time.monotonic() - self._last_line > PLAIN_SECONDS
        if not self._redraws and (evaluated or overdue):
            self._last_line = time.monotonic()
            self._console.print(
                f"{view.title}  {step.taken:,}/{view.budget:,}  left {clock(view.left)}  "
                f"{self._said}",
                highlight=False,
                soft_wrap=True,
            )

    def show_finding(self, finding: Finding) -> None:
        """A finding as it happens, with the command that explains it."""
        self._view.note_finding(finding)
        say(
            self._console,
            f"[{COLORS[finding.severity]}]{self._view.unit.one} {finding.taken:,}  {finding.rule} "
            f"{finding.name}[/]  {escape(finding.message)}   [dim]steadyrl explain "
            f"{finding.rule}[/]",
        )

    def show_action(self, intervention: Intervention) -> None:
        """What the guard did: from here on the counter goes on from an earlier Step."""
        self._view.note_return(intervention)
        print_intervention(intervention, self._console)

    def show_stopping(self, because: str) -> None:
        """It ends at the next Step. Called from within a signal: nothing is printed here."""
        self._view.stopping = f"stopping at the next Step ({because})"

    def observers(self) -> Observers:
        """This display as the observers of a run."""
        from steadyrl.run import Observers

        return Observers(
            step=self.show_step,
            finding=self.show_finding,
            action=self.show_action,
            begun=self.show_beginning,
            saved=lambda _step: self._view.note_checkpoint(),
            stopping=self.show_stopping,
        )


def describe_step(step: Step) -> str:
    """The handful of numbers people look at first; with replay a line for every Step."""
    if "aged.size" in step.signals:
        return _describe_replay(step)
    shown = (
        ("eval.return_mean", "eval"),
        ("eval.length_mean", "length"),
        ("critic.loss", "critic"),
        ("actor.loss", "actor"),
    )
    if "eval.return_mean" not in step.signals:
        return ""
    return "  ".join(
        f"{label} {step.signals[name]:.4g}" for name, label in shown if name in step.signals
    )


def _describe_replay(step: Step) -> str:
    """Policy loss, value loss, reward, items kept, and how often each sample is used."""
    shown = (
        ("PL", "policy.loss", ".2f", ""),
        ("VL", "value.loss", ".3g", ""),
        ("R", "rollout.return_mean", ".4g", ""),
        ("BUF", "aged.size", ".0f", ""),
        ("EFF", "train.sample_efficiency", ".1f", "x"),
        ("eval", "eval.return_mean", ".4g", ""),
    )
    return " ".join(
        f"{label}:{step.signals[name]:{how}}{unit}"
        for label, name, how, unit in shown
        if name in step.signals
    )


def timed_lines() -> Callable[[str], None]:
    """Says lines on stderr, each with the seconds since this was called."""
    started = time.monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - started:5.0f} s] {line}\n")

    return say
