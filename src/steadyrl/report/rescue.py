"""The story of a rescue on the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape as plain

from steadyrl.report.console import PlainConsole
from steadyrl.report.fitting import EVIDENCE, print_table, say
from steadyrl.store.results import RescueStory, read_result
from steadyrl.views.history import as_text
from steadyrl.views.proof import measure_told, name_of
from steadyrl.views.rescue import (
    Rows,
    fresh_table,
    hypotheses,
    made_worse,
    severe_rules,
    tried_table,
)
from steadyrl.views.rescued import causes_told


def print_rescue(folder: Path, report: Path) -> None:
    """Cause, what was tried, whether it is proved."""
    story: RescueStory = read_result(folder, "rescue")
    console = PlainConsole(highlight=False)
    say(console, f"\n[bold]{plain(story['status'].upper())}[/]  {plain(story['message'])}")
    _print_cause(story, console)
    if story["tried"]:
        _print_tried(story, console)
    if story["chosen"]:
        changes = story["chosen"]["changes"].items()
        told = ", ".join(f"{name} = {as_text(value)}" for name, value in changes)
        say(console, f"\nfix  {plain(told)}")
    for sentence in hypotheses(story):
        say(console, plain(sentence))
    if story["verified"]:
        console.print()
        _print_table(fresh_table(story), console)
        chance = f"chance alone would do it with p = {story['p_value']:.2g}"
        say(console, plain(f"decided by {measure_told(story)}; {chance}"))
    console.print()
    if (folder / "rescued.yaml").exists():
        console.print(f"config  {folder / 'rescued.yaml'}", soft_wrap=True, markup=False)
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def _print_cause(story: RescueStory, console: Console) -> None:
    for diagnosis in causes_told(story)[:1]:
        console.print(
            f"\ncause  [bold]{plain(diagnosis['cause'])} {plain(diagnosis['name'])}[/] "
            f"({diagnosis['confidence']:.2f})"
        )
        for text in diagnosis["evidence_for"]:
            say(console, f"  for      {plain(text)}", hanging=EVIDENCE)
        for text in diagnosis["evidence_against"]:
            say(console, f"  against  {plain(text)}", hanging=EVIDENCE)


def _print_tried(story: RescueStory, console: Console) -> None:
    """Everything that was tried, the names of what was found in it, and what is not advice."""
    console.print()
    _print_table(tried_table(story), console)
    for rule in severe_rules(story):
        say(console, f"[dim]{plain(f'{rule}: {name_of(rule)}')}[/]")
    for sentence in made_worse(story):
        say(console, plain(f"not advised: {sentence}"))


def _print_table(found: Rows, console: Console) -> None:
    titles, rows = found
    print_table(console, titles, [tuple(map(plain, row)) for row in rows])
