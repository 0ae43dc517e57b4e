"""A comparison's table and page. Reads compare.json only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

from steadyrl.report.page import COLORS, Chart, legend, write_page

LEARNING = ("config", "seeds", "final return, IQM (middle half)", "curve's mean", "to threshold")
STEADINESS = ("config", "collapsed", "severe", "worst drawdown", "seed spread", "seconds", "steps")
CONTRAST = ("config", "against", "mean difference (interval)", "pairs won", "p", "allowed", "clear")


def print_comparison(folder: Path, report: Path) -> None:
    """Who learns better, how surely, how steadily."""
    story = _story(folder)
    console = Console(highlight=False)
    for head, rows in (
        (LEARNING, _learning(story)),
        (STEADINESS, _steadiness(story)),
        (CONTRAST, _contrasts(story)),
    ):
        grid = Table(box=None, padding=(0, 2, 0, 0))
        for title in head:
            grid.add_column(title, overflow="fold")
        for row in rows:
            grid.add_row(*map(plain, row))
        console.print()
        console.print(grid)
    console.print(f"\n[bold]{plain(story['message'])}[/]", soft_wrap=True)
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def write_comparison_report(folder: Path) -> Path:
    """Curves with their intervals, and the tables."""
    story = _story(folder)
    return write_page(
        folder / "report.html",
        "compare",
        "Comparison",
        [_curves(story)],
        message=story["message"],
        legend=legend([arm["name"] for arm in story["arms"]]),
        tables=(
            ("Learning", LEARNING, _learning(story)),
            ("Steadiness", STEADINESS, _steadiness(story)),
            ("Against the first", CONTRAST, _contrasts(story)),
        ),
    )


def _story(folder: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads((folder / "compare.json").read_text("utf-8"))
    return story


def _learning(story: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            arm["name"],
            str(arm["seeds"]),
            _estimate(arm["final"], ",.4g"),
            _estimate(arm["area"], ",.4g"),
            "never" if arm["time_to_threshold"] is None else f"{arm['time_to_threshold']:,.0f}",
        )
        for arm in story["arms"]
    ]


def _steadiness(story: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            arm["name"],
            f"{arm['collapse_rate']:.0%}",
            f"{arm['sick_rate']:.0%}",
            "-" if arm["worst_drawdown"] is None else f"{arm['worst_drawdown']:.0%}",
            f"{arm['seed_spread']:,.3g}",
            f"{arm['seconds']:,.1f}",
            f"{arm['taken']:,}",
        )
        for arm in story["arms"]
    ]


def _contrasts(story: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            contrast["name"],
            contrast["reference"],
            _estimate(contrast["difference"], ",.4g"),
            f"{contrast['improvement']:.0%}",
            f"{contrast['p_value']:.2g}",
            f"{contrast['allowed']:.2g}",
            "yes" if contrast["clear"] else "no",
        )
        for contrast in story["contrasts"]
    ]


def _curves(story: dict[str, Any]) -> Chart:
    traces: list[dict[str, Any]] = []
    for number, arm in enumerate(story["arms"]):
        curve, color = arm["curve"], COLORS[number % len(COLORS)]
        x = curve["taken"]
        traces.append(
            {
                "x": [*x, *reversed(x)],
                "y": [*curve["high"], *reversed(curve["low"])],
                "fill": "toself",
                "fillcolor": f"{color}22",
                "line": {"width": 0},
                "hoverinfo": "skip",
                "mode": "lines",
            }
        )
        line = {"width": 2, "color": color}
        traces.append(
            {"x": x, "y": curve["value"], "name": arm["name"], "mode": "lines", "line": line}
        )
    about = "IQM of the evaluation return, and the middle half of the seeds"
    return {"id": "curves", "title": "Return", "about": about, "traces": traces}


def _estimate(record: dict[str, Any], spec: str) -> str:
    if record["value"] is None:
        return "-"
    if record["low"] is None or record["high"] is None:
        return f"{record['value']:{spec}} (too few seeds)"
    return f"{record['value']:{spec}} ({record['low']:{spec}} to {record['high']:{spec}})"
