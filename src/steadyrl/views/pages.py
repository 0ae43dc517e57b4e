"""A page as plain data: a verdict, blocks of text, tables, charts and proofs, and runs.

Every kind of page is made of these; the viewer draws them, in a file or from a server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steadyrl.core.records import without_nan
from steadyrl.views.run import RunView

Block = dict[str, Any]
Row = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Page:
    """What one page shows."""

    kind: str
    title: str
    tone: str = ""  # of the verdict: good, doubtful, bad, unknown
    headline: str = ""
    told: Sequence[str] = ()
    command: str = ""
    command_does: str = ""
    blocks: Sequence[Block] = ()
    runs: Sequence[RunView] = field(default_factory=list)
    groups: Sequence[str] = ()  # of each run: runs of a group are drawn alike
    decided: Sequence[str] = ()  # signals that decided, drawn first

    def to_json(self) -> dict[str, Any]:
        """As plain values, the runs' curves included."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain: dict[str, Any] = without_nan(
            {name: value for name, value in record.items() if name != "runs"}
        )
        return {**plain, "runs": [run.to_json() for run in self.runs]}


def sentence(said: str) -> str:
    """A message as a sentence of its own; a name at its beginning stays as it is."""
    first = said.split(" ", 1)[0].rstrip(".,:;")
    begun = said[:1].upper() + said[1:] if first.isalpha() else said
    return begun + ("" if said.endswith((".", "!", "?")) else ".")


def sentences(said: str) -> list[str]:
    """A long message, sentence by sentence."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", said.strip())


def text(*paragraphs: str, title: str = "") -> Block:
    """Paragraphs."""
    return {"type": "text", "title": title, "paragraphs": list(paragraphs)}


def items(title: str, lines: Sequence[str]) -> Block:
    """A list of sentences."""
    return {"type": "items", "title": title, "lines": list(lines)}


def rules(title: str, found: Sequence[tuple[str, str]]) -> Block:
    """Rules by id and name; where there is a server, each leads to its page."""
    return {"type": "rules", "title": title, "rules": [list(pair) for pair in found]}


def code(title: str, content: str) -> Block:
    """A file's content, folded."""
    return {"type": "code", "title": title, "content": content}


def table(title: str, head: Row, rows: Sequence[Row], about: str = "") -> Block:
    """Rows of text."""
    return {"type": "table", "title": title, "head": head, "rows": rows, "about": about}


def rates(title: str, found: Sequence[Mapping[str, Any]], about: str = "") -> Block:
    """Shares with their intervals: each a name, of what, and share, low, high, count and of."""
    return {"type": "rates", "title": title, "rows": list(found), "about": about}


def charts(title: str, found: Sequence[Mapping[str, Any]]) -> Block:
    """Charts side by side."""
    return {"type": "charts", "title": title, "charts": list(found)}


def chart(
    title: str,
    series: Sequence[Mapping[str, Any]],
    *,
    about: str = "",
    x: str = "steps",
    categories: Sequence[str] = (),
) -> Block:
    """One chart: series of name, x, y and perhaps low and high; x counts through `categories`."""
    return {
        "title": title,
        "about": about,
        "x": x,
        "series": list(series),
        "categories": list(categories),
    }
