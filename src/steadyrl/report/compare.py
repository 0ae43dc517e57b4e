"""A comparison's tables for the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape as plain

from steadyrl.report.console import PlainConsole
from steadyrl.report.fitting import print_table, say
from steadyrl.store.results import Comparison, read_result
from steadyrl.views.comparison import (
    CONTRAST,
    LEARNING,
    STEADINESS,
    contrasts,
    learning,
    steadiness,
)


def print_comparison(folder: Path, report: Path) -> None:
    """Who learns better, how surely, how steadily."""
    story: Comparison = read_result(folder, "compare")
    console = PlainConsole(highlight=False)
    for head, rows in (
        (LEARNING, learning(story)),
        (STEADINESS, steadiness(story)),
        (CONTRAST, contrasts(story)),
    ):
        console.print()
        print_table(console, head, [tuple(map(plain, row)) for row in rows])
    say(console, f"\n[bold]{plain(story['message'])}[/]")
    console.print(f"report  {report}", soft_wrap=True, markup=False)
