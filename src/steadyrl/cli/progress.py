"""Progress on stderr: a live bar with an estimate on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from steadyrl.core.records import Finding, Intervention, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.report.findings import print_intervention

if TYPE_CHECKING:
    from steadyrl.run import Observers

PLAIN_SECONDS = 15.0  # between two lines when stderr is not a terminal


LOGGER = logging.getLogger("steadyrl")  # where the trainers tell of work before the first Step


class _Notes(logging.Handler):
    """What trainers tell, on the console."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(escape(record.getMessage()), highlight=False, soft_wrap=True)


class TrainingProgress:
    """Shows where a run stands. Call it with every Step."""

    def __init__(self, title: str, config: RunConfig, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._title, self._unit, self._total = title, config.unit, config.budget
        self._first: tuple[int, float] | None = None
        self._last_line = time.monotonic()
        self._latest = ""
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            TextColumn("{task.fields[latest]}"),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=self._total, latest="")
        self._notes = _Notes(self._console)

    def __enter__(self) -> Self:
        LOGGER.addHandler(self._notes)
        LOGGER.setLevel(logging.INFO)
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        LOGGER.removeHandler(self._notes)

    def __call__(self, step: Step) -> None:
        """Show a Step."""
        self._latest = describe_step(step) or self._latest
        self._bar.update(self._task, completed=step.taken, latest=self._latest)
        evaluated = "eval.return_mean" in step.signals
        now = time.monotonic()
        if self._first is None:
            self._first = (step.taken, now)
        overdue = now - self._last_line > PLAIN_SECONDS
        if not self._console.is_terminal and (evaluated or overdue):
            self._last_line = now
            left = self._estimate(step.taken, now)
            self._console.print(
                f"{self._title}  {step.taken:,}/{self._total:,}  {left}  {self._latest}",
                highlight=False,
                soft_wrap=True,
            )

    def show_finding(self, finding: Finding) -> None:
        """A finding as it happens, with the command that explains it."""
        color = {"severe": "red", "warning": "yellow"}.get(finding.severity, "cyan")
        self._console.print(
            f"[{color}]{self._unit.one} {finding.taken:,}  {finding.rule} {finding.name}[/]  "
            f"{escape(finding.message)}   [dim]steadyrl explain {finding.rule}[/]",
            highlight=False,
            soft_wrap=True,
        )

    def show_action(self, intervention: Intervention) -> None:
        """What the guard did: from here on the counter goes on from an earlier Step."""
        print_intervention(intervention, self._console)

    def observers(self) -> Observers:
        """This display as the observers of a run."""
        from steadyrl.run import Observers

        return Observers(step=self, finding=self.show_finding, action=self.show_action)

    def _estimate(self, taken: int, now: float) -> str:
        assert self._first is not None
        done, elapsed = taken - self._first[0], now - self._first[1]
        if done <= 0:
            return "left ?"
        seconds = round((self._total - taken) * elapsed / done)
        return f"left {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


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
