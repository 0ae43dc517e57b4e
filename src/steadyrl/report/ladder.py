"""A ladder's table for the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape as plain

from steadyrl.report.console import PlainConsole
from steadyrl.report.fitting import print_table, say
from steadyrl.store.results import LadderStory, read_result
from steadyrl.views.ladder import HEAD, because, rungs_of, title_of


def print_ladder(folder: Path, report: Path) -> None:
    """The table, what failed and why, and the recommendation."""
    story: LadderStory = read_result(folder, "ladder")
    console = PlainConsole(highlight=False)
    console.print(f"\n[bold]{plain(story['config'])}[/], {plain(story['gates'])} gates")
    print_table(console, HEAD, [tuple(map(plain, row)) for row in rungs_of(story)])
    for rung in story["rungs"]:
        if lines := because(rung):
            say(console, f"\n{plain(title_of(rung))}")
            for line in lines:
                say(console, f"  {plain(line)}")
    say(console, f"\n[bold]{plain(story['message'])}[/]")
    if (folder / "recommended.yaml").exists():
        console.print(f"config  {folder / 'recommended.yaml'}", soft_wrap=True, markup=False)
    console.print(f"report  {report}", soft_wrap=True, markup=False)
