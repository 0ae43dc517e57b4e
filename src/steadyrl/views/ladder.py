"""A ladder as plain data: which batch sizes hold up, and why others do not."""

from __future__ import annotations

import shlex
from pathlib import Path

from steadyrl.store.paths import resolve
from steadyrl.store.reader import RunReader
from steadyrl.store.results import Gate, LadderStory, Rung, read_result
from steadyrl.views.numbers import figure, number
from steadyrl.views.pages import Block, Page, chart, charts, items, sentence, table
from steadyrl.views.runs import view_runs

MEANS = {
    "climb": "passed every gate",
    "hold": "a gate stayed open, even with twice the seeds",
    "step back": "failed a gate",
    "stop": "a number was not finite",
}
# What gates measure, as one says it; a signal by its own name.
MEASURED = {
    "misfit": "the critic's squared error over the variance of its targets",
    "return shortfall": "what the return lacks to that of lower rungs, as a share",
    "largest q.bound_ratio": "the largest |Q| over what the rewards allow",
}
HEAD = ("batch", "used", "samples/s", "budget", "return, median", "length", "verdict", "advice")


def ladder_page(folder: Path) -> Page:
    """Which batch sizes hold up, and why others do not."""
    story: LadderStory = read_result(folder, "ladder")
    paths = [resolve(folder, run) for rung in story["rungs"] for run in rung["runs"]]
    if len(set(paths)) < len(paths):
        raise ValueError("a run is named twice")
    told = [(rung, because(rung)) for rung in story["rungs"]]
    headline, tone = _standing(story)
    command, does = _next(story, folder)
    return Page(
        kind="ladder",
        title="Ladder",
        tone=tone,
        headline=headline,
        told=[sentence(story["message"]), *_causes(story), _subtitle(story)],
        command=command,
        command_does=does,
        blocks=[
            table("Rungs", HEAD, rungs_of(story), _words(story)),
            charts("", _charts(story)),
            *(items(title_of(rung), lines) for rung, lines in told if lines),
        ],
        runs=view_runs([RunReader.open(path) for path in paths]),
        groups=[f"batch {r['batch_size']:,}" for r in story["rungs"] for _ in r["runs"]],
    )


def _standing(story: LadderStory) -> tuple[str, str]:
    """In a word, and its tone."""
    if story["recommended"]:
        return "recommended", "good"
    held = any(rung["decision"] == "hold" for rung in story["rungs"])
    return ("undecided", "unknown") if held else ("no rung holds up", "bad")


def _next(story: LadderStory, folder: Path) -> tuple[str, str]:
    """What to type now, and what it would do."""
    recommended = folder / "recommended.yaml"
    if story["recommended"] and recommended.exists():
        return f"steadyrl train {shlex.quote(str(recommended))}", "trains with that batch size"
    config = shlex.quote(str(story["config"]))
    if _standing(story)[0] == "undecided":
        seeds = 2 * max(int(rung["seeds"]) for rung in story["rungs"])
        again = shlex.quote(f"{folder}-again")
        return f"steadyrl ladder {config} --seeds {seeds} --output {again}", "more seeds decide"
    return f"steadyrl rescue {config}", "finds out what is wrong, and proves a fix"


def _causes(story: LadderStory) -> list[str]:
    """What was behind rungs that failed."""
    found: dict[str, list[str]] = {}
    for rung in story["rungs"]:
        if rung["cause"]:
            found.setdefault(str(rung["cause"]), []).append(f"{rung['batch_size']:,}")
    every = len(story["rungs"])
    return [
        f"Why: {cause.replace('-', ' ')}, "
        + ("on every rung." if len(sizes) == every else f"at batch {', '.join(sizes)}.")
        for cause, sizes in found.items()
    ]


def _words(story: LadderStory) -> str:
    """What the decisions mean that were taken."""
    taken = {rung["decision"] for rung in story["rungs"]}
    return "; ".join(f"{word}: {means}" for word, means in MEANS.items() if word in taken)


def title_of(rung: Rung) -> str:
    """A rung and what was decided."""
    return f"batch {rung['batch_size']:,}: {rung['decision']}"


def because(rung: Rung) -> list[str]:
    """Why a rung was not climbed past."""
    open_gates = [gate for gate in rung["gates"] if gate["answer"] == "open"]
    if rung["decision"] == "hold" and open_gates:
        told = (f"open: {_measured(g)} {figure(g['value'])} {_interval(g)}" for g in open_gates)
        return [one.rstrip() for one in told] + list(rung["evidence"])
    if not rung["evidence"]:
        return []
    cause = [f"cause: {rung['cause']}"] if rung["cause"] else []
    failed = _failed(rung)
    return [*([f"failed: {failed}"] if failed else []), *cause, *rung["evidence"]]


def _measured(gate: Gate) -> str:
    """A gate's measure in words, and by the name that gate files call it."""
    words = MEASURED.get(gate["measure"])
    return f"{words} ({gate['measure']})" if words else gate["measure"]


def _interval(gate: Gate) -> str:
    low, high = gate.get("low"), gate.get("high")
    return "" if low is None or high is None else f"({figure(low)} to {figure(high)})"


def _subtitle(story: LadderStory) -> str:
    return f"Asked of {story['config']} ({story['gates']} gates): {story['about']}"


def rungs_of(story: LadderStory) -> list[tuple[str, ...]]:
    """A row for every batch size that was tried."""
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


def _advice(rung: Rung, recommended: int | None) -> str:
    if rung["batch_size"] == recommended:
        return "recommended"
    return {"climb": "stable", "hold": "watch it"}.get(rung["decision"], "avoid")


def _failed(rung: Rung) -> str:
    failed = [gate for gate in rung["gates"] if gate["answer"] == "retreat"]
    return "; ".join(f"{_measured(gate)} is {figure(gate['value'])}" for gate in failed)


def _charts(story: LadderStory) -> list[Block]:
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
