"""The frame of every page: self-contained, one style, charts drawn by the inlined Plotly.

What a page holds is plain values, put into a template that escapes them all: names, messages and
settings come from files that anybody may have written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from steadyrl.store.files import write_atomically

Chart = dict[str, Any]
"""id, title, about, traces; optionally x (axis title), axis and scale ("log", "category")."""

COLORS = (
    "#175cd3",
    "#d92d20",
    "#079455",
    "#dc6803",
    "#7839ee",
    "#0e9384",
    "#c11574",
    "#475467",
    "#84adff",
    "#fda29b",
    "#75e0a7",
    "#fec84b",
    "#c3b5fd",
    "#5fe9d0",
    "#faa7e0",
    "#98a2b3",
)

_TEMPLATES = Environment(
    loader=PackageLoader("steadyrl.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.policies["json.dumps_kwargs"] = {"allow_nan": False}


def write_page(path: Path, kind: str, title: str, charts: Sequence[Chart], **values: Any) -> Path:
    """Write a page of a kind (the name of its template); every chart has a place in it."""
    from plotly.offline import get_plotlyjs

    text = _TEMPLATES.get_template(f"{kind}.html").render(
        title=title, charts=charts, plotly=get_plotlyjs(), **values
    )
    write_atomically(path, text.encode(errors="replace"))  # names of files need not be text
    return path


def number(value: Any, spec: str) -> str:
    """A figure from a kept result, where null means that it was not measured."""
    if value is None:
        return "-"
    return format(value, spec) if isinstance(value, int | float) else str(value)


def legend(names: Sequence[str]) -> list[tuple[str, str]]:
    """Names and their colours, in the order of the traces."""
    return list(zip(names, cycle(COLORS), strict=False))
