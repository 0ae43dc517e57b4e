"""The frame of every page: self-contained, one style, charts drawn by the inlined Plotly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import cycle
from typing import Any

Chart = dict[str, Any]  # id, traces; optionally x (axis title), axis and scale ("log", "category")

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

STYLE = """
:root { color-scheme: light; font-family: system-ui, sans-serif; color: #1c2330; }
body { max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
.sub { color: #667085; } .grid { display: grid; gap: 1rem; grid-template-columns: 1fr 1fr; }
.card { border: 1px solid #e4e7ec; border-radius: 8px; padding: .6rem .8rem; min-width: 0; }
.card h3 { font-size: .85rem; margin: 0; } .card p { font-size: .75rem; color: #667085; margin: 0; }
.plot { height: 230px; } table { border-collapse: collapse; font-size: .82rem; }
.legend span { font-size: .78rem; margin-right: 1.1rem; white-space: nowrap; }
.legend i { display: inline-block; width: 1.1rem; height: .25rem; margin-right: .4rem;
  vertical-align: middle; }
.scroll { overflow-x: auto; }
td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top; }
th { color: #667085; font-weight: 500; } code { font-size: .8rem; }
details { margin-top: .6rem; } @media (max-width: 800px) { .grid { grid-template-columns: 1fr; } }
"""

SCRIPT = """
for (const chart of CHARTS) {
  Plotly.newPlot(chart.id, chart.traces, {
    margin: {l: 55, r: 10, t: 8, b: 36}, showlegend: false, font: {size: 11},
    xaxis: {title: {text: chart.x || "env steps", font: {size: 11}}, type: chart.axis || "-"},
    yaxis: {exponentformat: "e", type: chart.scale || "-"}
  }, {displayModeBar: false, responsive: true});
}
"""


def page(title: str, body: str, charts: Sequence[Chart]) -> str:
    """A whole page as text; every chart's id is that of an element in the body."""
    from plotly.offline import get_plotlyjs

    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{escape(title)} · steadyrl</title><style>{STYLE}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>"
        f"<h1>{escape(title)}</h1><p class='sub'>steadyrl report</p>{body}"
        f"<script>const CHARTS = {_json(list(charts))};{SCRIPT}</script></body></html>"
    )


def card(title: str, about: str, identity: str) -> str:
    """A place for a chart."""
    return (
        f"<div class='card'><h3>{escape(title)}</h3><p>{escape(about)}</p>"
        f"<div class='plot' id='{identity}'></div></div>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text cells under titles."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<div class='scroll'><table><tr>{titles}</tr>{body}</table></div>"


def number(value: float | None, spec: str) -> str:
    """A figure from a kept result, where null means that it was not measured."""
    return "-" if value is None else format(value, spec)


def legend(names: Sequence[str]) -> str:
    """Names beside their colours, in the order of the traces."""
    return "".join(
        f"<span><i style='background:{color}'></i>{escape(name)}</span>"
        for name, color in zip(names, cycle(COLORS), strict=False)
    )


def _json(value: Any) -> str:
    """JSON that cannot close the script element it stands in."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
