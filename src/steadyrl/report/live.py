"""A run that goes on, as a handful of lines for a terminal of any width."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.text import Text

from steadyrl.core.numbers import amount
from steadyrl.core.records import SEVERITIES, Severity
from steadyrl.report.blocks import BROKEN, sparkline
from steadyrl.report.findings import COLORS
from steadyrl.views.under_way import Course, UnderWay

WORDS: Mapping[Severity, str] = {"severe": "severe", "warning": "warning", "note": "note"}
ECHO = 8  # cells that the last line leaves free: "^C" on a new row would shift all the others
NARROWEST = 20  # below it lines are cut, not laid out
LABEL, VALUE = 18, 10  # columns of a signal's name and of its newest value


def draw(run: UnderWay, width: int) -> list[Text]:
    """The lines that show where a run stands, none longer than the terminal is wide."""
    width = max(width, NARROWEST)
    lines = [_head(run), *_progress(run, width)]
    lines += [_signal(called, course, run.taken, width) for called, course in run.shown]
    if run.news:
        lines.append(Text(run.news, style="dim"))
    lines += _foot(run, width - ECHO)
    for line in lines:
        line.no_wrap = True
        line.truncate(width - 1, overflow="ellipsis")  # the last cell would begin a new row
    lines[-1].truncate(width - ECHO, overflow="ellipsis")
    return lines


def _head(run: UnderWay) -> Text:
    line = Text.assemble((run.title, "bold"), "  ", (run.about, "dim"))
    found = [(name, count) for name in reversed(SEVERITIES) if (count := run.found[name])]
    said = ", ".join(f"{count} {_counted(WORDS[name], count)}" for name, count in found)
    line.append(f"  {said or 'nothing found'}", style=COLORS[found[0][0]] if found else "green")
    return line


def _counted(word: str, count: int) -> str:
    return word if count == 1 or word == "severe" else f"{word}s"


def _progress(run: UnderWay, width: int) -> list[Text]:
    share = min(1.0, run.taken / run.budget) if run.budget else 0.0
    count = f" {run.taken:,}/{run.budget:,} {run.unit.many} {share:.0%}"
    bar = max(8, min(40, width - 1 - len(count)))
    done = round(share * bar)
    line = Text.assemble(("━" * done, "green"), ("━" * (bar - done), "dim"), count)
    rate = "" if math.isnan(run.rate) else f"{amount(run.rate)} per second   "
    times = f"{rate}for {clock(run.elapsed)}   left {clock(run.left)}"
    return [line, Text(times)]


def _signal(called: str, course: Course, taken: int, width: int) -> Text:
    columns = course.columns
    row = sparkline(
        [column.begin / max(taken, 1) for column in columns],
        [column.low for column in columns],
        [column.high for column in columns],
        [column.broken for column in columns],
        max(1, width - LABEL - VALUE - 2),
    )
    drawn = Text(row, style="cyan")
    drawn.highlight_words([BROKEN], style="red")
    line = Text(f"{called:<{LABEL}.{LABEL}}").append_text(drawn)
    line.append(f" {amount(course.latest)}", style="" if math.isfinite(course.latest) else "red")
    return line


def _foot(run: UnderWay, room: int) -> list[Text]:
    """What is saved, and how to stop and go on: in full if there is room for it."""
    saved = "no checkpoint yet"
    if run.saved:
        saved = f"saved at {run.unit.one} {run.saved[0]:,}, {clock(run.since_saved)} ago"
    if run.stopping:
        stopping = f"{run.stopping}; Ctrl-C once more: at once"
        stopping = stopping if len(stopping) <= room else "stopping; Ctrl-C once more: at once"
        return [Text(saved, style="dim"), Text(stopping, style="yellow")]
    stop = "Ctrl-C stops and saves"
    after = f"{stop}; then: steadyrl train --resume {run.path}" if run.path else stop
    stop = after if len(after) <= room else f"{stop}; train --resume goes on"
    return [Text(saved, style="dim"), Text(stop, style="dim")]


def clock(seconds: float) -> str:
    """A time in hours, minutes and seconds; a question mark if it is not known."""
    if math.isnan(seconds):
        return "?"
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
