"""Sentences and tables that fit a terminal of any width without a word being broken.

Where nobody looks at it (a pipe, a file), a sentence is one line and a table as wide as it is:
other programs read it line by line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

GAP = 2  # columns between two cells
HANGING = 2
EVIDENCE = 9  # of lines that begin with "for", "against" or "remedy"
NARROWEST = 20


def say(console: Console, markup: str, *, hanging: int = HANGING) -> None:
    """A sentence; on a terminal wrapped between words, and what follows its first row set in."""
    if markup.startswith("\n"):
        console.print()
    text = Text.from_markup(markup.removeprefix("\n"))
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    begin = hanging + len(text.plain) - len(text.plain.lstrip(" "))
    label = text[:begin]
    for row in text[begin:].wrap(console, max(NARROWEST, console.width - begin)):
        row.rstrip()
        console.print(label.append_text(row), no_wrap=True)
        label = Text(" " * begin)


def print_table(
    console: Console, titles: Sequence[str], rows: Sequence[Sequence[str]], *, header: bool = True
) -> None:
    """Rows of cells (with markup) below their titles.

    A column is at least as wide as its longest word; where they do not fit beside each other, every
    row becomes a few lines of its own.
    """
    cells = [[Text.from_markup(cell) for cell in row] for row in rows]
    columns = [
        [Text(title), *(row[place] for row in cells)] if header else [row[place] for row in cells]
        for place, title in enumerate(titles)
    ]
    wanted = [max((text.cell_len for text in column), default=0) for column in columns]
    room = console.width - GAP * len(columns) if console.is_terminal else sum(wanted)
    widths = _widths([_longest_word(column) for column in columns], wanted, room)
    if widths is None:
        _print_records(console, titles, cells, header=header)
        return
    for row in [[Text(title, style="bold") for title in titles]] * header + cells:
        _print_row(console, row, widths)


def _print_row(console: Console, cells: Sequence[Text], widths: Sequence[int]) -> None:
    """Cells beside each other, each wrapped in its own width."""
    wrapped = [cell.wrap(console, max(w, 1)) for cell, w in zip(cells, widths, strict=True)]
    for number in range(max(map(len, wrapped))):
        line = Text()
        for rows, width in zip(wrapped, widths, strict=True):
            piece = rows[number] if number < len(rows) else Text()
            piece.rstrip()
            piece.pad_right(width + GAP - piece.cell_len)
            line.append_text(piece)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _longest_word(texts: Sequence[Text]) -> int:
    return max((len(word) for text in texts for word in text.plain.split()), default=0)


def _widths(least: Sequence[int], wanted: Sequence[int], room: int) -> list[int] | None:
    """What every column wants, or its share of the room; None if not even the words fit."""
    left = room - sum(least)
    if left < 0:
        return None
    widths = list(least)
    modest_first = sorted(range(len(least)), key=lambda place: wanted[place] - least[place])
    for done, place in enumerate(modest_first):
        more = min(left // (len(least) - done), wanted[place] - least[place])
        widths[place] += more
        left -= more
    return widths


def _print_records(
    console: Console, titles: Sequence[str], rows: Sequence[Sequence[Text]], *, header: bool
) -> None:
    """Every row by itself: its first cell, and below it the others, each after its title."""
    label = max((len(title) for title in titles[1:]), default=0) if header else 0
    for first, *others in rows:
        say(console, first.markup)
        for title, cell in zip(titles[1:], others, strict=True):
            if cell.plain:
                named = f"{title:<{label}}  " if header else ""
                say(console, f"  {named}{cell.markup}", hanging=len(named))
