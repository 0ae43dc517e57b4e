"""A ladder's table and page. Reads ladder.json and run files only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as plain

from steadyrl.report.fitting import print_table, say
from steadyrl.report.html import view_runs
from steadyrl.report.numbers import figure, number
from steadyrl.store.paths import resolve
from steadyrl.store.reader import RunReader
from steadyrl.viewer.frame import write_page
from steadyrl.views.pages import Block, Page, chart, charts, items, table

HEAD = ("batch", "used", "samples/s", "budget", "return, median", "length", "verdict", "advice")


def print_ladder(folder: Path, report: Path) -> None:
    """The table, what failed and why, and the recommendation."""
    story = _story(folder)
    console = Console(highlight=False)
    console.print(f"\n[bold]{plain(story['config'])}[/], {plain(story['gates'])} gates")
    print_table(console, HEAD, [tuple(map(plain, row)) for row in _rows(story)])
    for rung in story["rungs"]:
        if rung["cause"] or rung["evidence"]:
            failed = plain(f"{rung['decision']}. {_failed(rung)}")
            say(console, f"\nbatch {rung['batch_size']:,}: {failed}")
            if rung["cause"]:
                console.print(f"  cause  [bold]{plain(rung['cause'])}[/]")
            for sentence in rung["evidence"]:
                say(console, f"  {plain(sentence)}")
    say(console, f"\n[bold]{plain(story['message'])}[/]")
    if (folder / "recommended.yaml").exists():
        console.print(f"config  {folder / 'recommended.yaml'}", soft_wrap=True, markup=False)
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def write_ladder_report(folder: Path) -> Path:
    """The table and its plots, then the curves of every run."""
    return write_page(folder / "report.html", ladder_page(folder))


def ladder_page(folder: Path) -> Page:
    """Which batch sizes hold up, and why others do not."""
    story = _story(folder)
    paths = [resolve(folder, run) for rung in story["rungs"] for run in rung["runs"]]
    failed = [_reasons(rung) for rung in story["rungs"] if rung["evidence"]]
    return Page(
        kind="ladder",
        title="Ladder",
        tone="good" if story["recommended"] else "bad",
        told=[story["message"], _subtitle(story)],
        blocks=[
            table("Rungs", HEAD, _rows(story)),
            charts("", _charts(story)),
            *(items(one["title"], [one["because"], *one["evidence"]]) for one in failed),
        ],
        runs=view_runs([RunReader.open(path) for path in paths]),
        groups=[f"batch {r['batch_size']:,}" for r in story["rungs"] for _ in r["runs"]],
    )


def _reasons(rung: dict[str, Any]) -> dict[str, Any]:
    """Why a rung was not climbed past, for the page."""
    cause = f" Cause: {rung['cause']}." if rung["cause"] else ""
    return {
        "title": f"batch {rung['batch_size']:,}: {rung['decision']}",
        "because": _failed(rung) + cause,
        "evidence": rung["evidence"],
    }


def _story(folder: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads((folder / "ladder.json").read_text("utf-8"))
    return story


def _subtitle(story: dict[str, Any]) -> str:
    return f"{story['config']}, {story['gates']} gates: {story['about']}"


def _rows(story: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for rung in story["rungs"]:
        returns, length = rung["final_return"], rung["final_length"]
        used = "-" if rung["utilisation"] is None else f"{rung['utilisation']:.0%} {rung['device']}"
        rows.append(
            (
                f"{rung['batch_size']:,}",
                used,
                number(rung["samples_per_second"], ",.0f"),
                f"{number(rung['minutes'], '.1f')} min",
                f"{figure(returns['value'], 3)} ({figure(returns['low'], 3)} to "
                f"{figure(returns['high'], 3)})",
                number(length["value"], ",.0f"),
                rung["decision"],
                _advice(rung, story["recommended"]),
            )
        )
    return rows


def _advice(rung: dict[str, Any], recommended: int | None) -> str:
    if rung["batch_size"] == recommended:
        return "recommended"
    return {"climb": "stable", "hold": "watch it"}.get(rung["decision"], "avoid")


def _failed(rung: dict[str, Any]) -> str:
    failed = [gate for gate in rung["gates"] if gate["answer"] == "retreat"]
    return "; ".join(f"{gate['measure']} = {figure(gate['value'])}" for gate in failed)


def _charts(story: dict[str, Any]) -> list[Block]:
    rungs = story["rungs"]
    sizes = [f"{rung['batch_size']:,}" for rung in rungs]
    places = list(range(len(rungs)))
    returns = [rung["final_return"] for rung in rungs]
    spread = {"low": [r["low"] for r in returns], "high": [r["high"] for r in returns]}
    plots: tuple[tuple[str, str, list[float | None]], ...] = (
        ("Return", "median over seeds with its interval", [r["value"] for r in returns]),
        ("Speed", "samples learned from per second", [r["samples_per_second"] for r in rungs]),
        ("Utilisation", "share of the threads or the GPU", [r["utilisation"] for r in rungs]),
        ("Time", "minutes for the whole budget", [r["minutes"] for r in rungs]),
    )
    found = []
    for title, about, values in plots:
        if not any(value is not None for value in values):
            continue
        series = {"name": title, "x": places, "y": values, **(spread if title == "Return" else {})}
        found.append(chart(title, [series], about=about, x="batch size", categories=sizes))
    return found
