"""Sentences and tables on terminals of any width: words stay whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from steadyrl.report.fitting import print_table, say

TITLES = ("tried", "why", "return", "state")
ROWS = [
    ("R337 normalize-rewards", "C255 rewards-drown-policy", "-2.434e+06", "nothing severe"),
    ("placebo (same config, other randomness)", "placebo", "-1.36e+07", "stopped D102 D104"),
]
WORDS = {word for row in ROWS for cell in row for word in cell.split()}


def _printed(width: int, *, terminal: bool = True, header: bool = True) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    print_table(console, TITLES, ROWS, header=header)
    return file.getvalue().splitlines()


def _said(text: str, width: int, *, terminal: bool = True, hanging: int = 2) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    say(console, text, hanging=hanging)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_no_word_of_a_table_is_broken_and_no_row_is_too_long(width: int) -> None:
    lines = _printed(width)
    assert max(map(len, lines)) <= width
    assert set(" ".join(lines).split()) - set(TITLES) == WORDS


def test_where_the_words_fit_beside_each_other_they_stand_in_columns() -> None:
    head, *_ = _printed(80)
    assert head.split() == list(TITLES)


def test_where_they_do_not_every_row_has_lines_of_its_own() -> None:
    assert _printed(50)[:4] == [
        "R337 normalize-rewards",
        "  why     C255 rewards-drown-policy",
        "  return  -2.434e+06",
        "  state   nothing severe",
    ]
    assert _printed(30, header=False)[1:3] == ["  C255 rewards-drown-policy", "  -2.434e+06"]


def test_a_table_for_another_program_is_as_wide_as_it_is() -> None:
    lines = _printed(60, terminal=False)
    assert len(lines) == 1 + len(ROWS)
    for line, row in zip(lines[1:], ROWS, strict=True):
        assert all(cell in line for cell in row)


def test_room_is_shared_so_that_like_columns_stay_alike() -> None:
    file = io.StringIO()
    console = Console(file=file, width=40, force_terminal=True, color_system=None)
    print_table(console, ("a", "b"), [("one two three four five",) * 2])
    first, second = file.getvalue().splitlines()[1].split("  ", 1)
    assert first.strip() == second.strip()


def test_a_sentence_is_wrapped_between_words_and_set_in() -> None:
    text = "      for      the value gradient is larger than the policy's"
    assert _said(text, 40, hanging=9) == [
        "      for      the value gradient is",
        "               larger than the policy's",
    ]


def test_a_sentence_for_another_program_is_one_line() -> None:
    text = "the value gradient is larger than the policy's " * 5
    assert _said(text.strip(), 40, terminal=False) == [text.strip()]


def test_an_empty_line_may_come_before_a_sentence() -> None:
    assert _said("\nit holds", 40) == ["", "it holds"]
