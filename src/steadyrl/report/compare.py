"""A comparison's table and page. Reads compare.json only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as plain

from steadyrl.core.numbers import amount
from steadyrl.report.fitting import print_table, say
from steadyrl.report.numbers import figure
from steadyrl.viewer.frame import write_page
from steadyrl.views.pages import Block, Page, chart, charts, sentence, table

LEARNING = ("config", "seeds", "final return, IQM (middle half)", "curve's mean", "to threshold")
STEADINESS = ("config", "collapsed", "severe", "worst drawdown", "seed spread", "seconds", "steps")
CONTRAST = ("config", "against", "mean difference (interval)", "pairs won", "p", "allowed", "clear")

ABOUT_STEADINESS = (
    "Collapsed: seeds that lost most of what they had gained. Severe: seeds in which something "
    "severe was found. Worst drawdown: what a seed lost of its gain, at most; over 100 % if it "
    "fell below where it began. Seconds: of one run."
)
ABOUT_CONTRAST = (
    "p: how often equals would differ so much. Clear: p is at most what is allowed after this many "
    "looks."
)


def print_comparison(folder: Path, report: Path) -> None:
    """Who learns better, how surely, how steadily."""
    story = _story(folder)
    console = Console(highlight=False)
    for head, rows in (
        (LEARNING, _learning(story)),
        (STEADINESS, _steadiness(story)),
        (CONTRAST, _contrasts(story)),
    ):
        console.print()
        print_table(console, head, [tuple(map(plain, row)) for row in rows])
    say(console, f"\n[bold]{plain(story['message'])}[/]")
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def write_comparison_report(folder: Path) -> Path:
    """Curves with their intervals, and the tables."""
    return write_page(folder / "report.html", comparison_page(folder))


def comparison_page(folder: Path) -> Page:
    """Who learns better, how surely, how steadily."""
    story = _story(folder)
    clear = any(contrast["clear"] for contrast in story["contrasts"])
    return Page(
        kind="compare",
        title="Comparison",
        tone="good" if clear else "unknown",
        headline="clear" if clear else "not clear",
        told=[sentence(story["message"]), _finals(story)],
        blocks=[
            charts("", [_curves(story)]),
            table("Learning", LEARNING, _learning(story), _about_learning(story)),
            table("Steadiness", STEADINESS, _steadiness(story), ABOUT_STEADINESS),
            table("Against the first", CONTRAST, _contrasts(story), ABOUT_CONTRAST),
        ],
    )


def _finals(story: dict[str, Any]) -> str:
    told = (f"{arm['name']} {_estimate(arm['final'])}" for arm in story["arms"])
    return f"Final return: {', '.join(told)}."


def _about_learning(story: dict[str, Any]) -> str:
    timed = figure(story.get("threshold"))
    middle = "IQM: mean of the middle half of the seeds."
    return f"{middle} To threshold: the first reaching of {timed} is timed."


def _story(folder: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads((folder / "compare.json").read_text("utf-8"))
    return story


def _learning(story: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            arm["name"],
            str(arm["seeds"]),
            _estimate(arm["final"]),
            _estimate(arm["area"]),
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
            amount(arm["seed_spread"], 3),
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
            _estimate(contrast["difference"]),
            f"{contrast['improvement']:.0%}",
            f"{contrast['p_value']:.2g}",
            f"{contrast['allowed']:.2g}",
            "yes" if contrast["clear"] else "no",
        )
        for contrast in story["contrasts"]
    ]


def _curves(story: dict[str, Any]) -> Block:
    series = [
        {
            "name": arm["name"],
            "x": arm["curve"]["taken"],
            "y": arm["curve"]["value"],
            "low": arm["curve"]["low"],
            "high": arm["curve"]["high"],
            "area": True,
        }
        for arm in story["arms"]
    ]
    about = "IQM of the evaluation return, and the middle half of the seeds"
    return chart("Return", series, about=about)


def _estimate(record: dict[str, Any]) -> str:
    if record["value"] is None:
        return "-"
    if record["low"] is None or record["high"] is None:
        return f"{figure(record['value'])} (too few seeds)"
    return f"{figure(record['value'])} ({figure(record['low'])} to {figure(record['high'])})"
