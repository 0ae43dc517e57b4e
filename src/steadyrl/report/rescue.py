"""The story of a rescue, on the terminal and as a page. Reads rescue.json and run files only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

from steadyrl.report.html import show_runs
from steadyrl.report.page import number, write_page
from steadyrl.store.paths import resolve
from steadyrl.store.reader import RunReader


def print_rescue(folder: Path, report: Path) -> None:
    """Cause, what was tried, whether it is proved."""
    story = _story(folder)
    console = Console(highlight=False)
    console.print(
        f"\n[bold]{plain(story['status'].upper())}[/]  {plain(story['message'])}", soft_wrap=True
    )
    for diagnosis in causes_told(story)[:1]:
        console.print(
            f"\ncause  [bold]{plain(diagnosis['cause'])} {plain(diagnosis['name'])}[/] "
            f"({diagnosis['confidence']:.2f})"
        )
        for text in diagnosis["evidence_for"]:
            console.print(f"  for      {plain(text)}", soft_wrap=True)
        for text in diagnosis["evidence_against"]:
            console.print(f"  against  {plain(text)}", soft_wrap=True)
    if story["tried"]:
        console.print()
        console.print(_tried_table(story))
        for sentence in made_worse(story):
            console.print(plain(sentence), soft_wrap=True)
    if story["chosen"]:
        console.print(f"\nfix  {plain(_settings(story['chosen']['changes']))}", soft_wrap=True)
    for sentence in hypotheses(story):
        console.print(plain(sentence), soft_wrap=True)
    if story["verified"]:
        console.print()
        console.print(_verified_table(story))
        console.print(plain(_decided_by(story)))
    console.print()
    if (folder / "rescued.yaml").exists():
        console.print(f"config  {folder / 'rescued.yaml'}", soft_wrap=True, markup=False)
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def causes_told(story: dict[str, Any]) -> list[dict[str, Any]]:
    """The cause whose remedy was chosen first; none where a run was left alone as healthy."""
    diagnoses: list[dict[str, Any]] = story["diagnoses"]
    if story["status"] == "healthy":
        return []
    origin = (story["chosen"] or {}).get("origin")
    return sorted(diagnoses, key=lambda d: f"{d['cause']} {d['name']}" != origin)


def made_worse(story: dict[str, Any]) -> list[str]:
    """Which changes are not advice, whatever proposed them."""
    sick = [row["name"] for row in story["tried"] if row["severe"] and row["origin"] != "placebo"]
    names = ", ".join(sick)
    return [f"not advised, for something severe was found with it: {names}"] if sick else []


def hypotheses(story: dict[str, Any]) -> list[str]:
    """What became of the changes that the user asked for."""
    said = []
    for row in story["tried"]:
        if row["origin"] == "asked for":
            verdict = "helped" if row["helped"] else "did not help, so that was not the cause"
            length = (
                ""
                if row["final_length"] is None
                else (f"episodes of {number(row['final_length'], ',.0f')} steps, ")
            )
            said.append(
                f"{row['name']} {verdict}: {length}"
                f"{_score(story)} {number(row['final_return'], ',.4g')}"
            )
    return said


def write_rescue_report(folder: Path) -> Path:
    """A page with the story and the curves of every run that was made for it."""
    story = _story(folder)
    told = [*story["tried"], *(r[side] for r in story["verified"] for side in ("before", "after"))]
    paths = [folder / "original", *(resolve(folder, row["run"]) for row in told)]
    runs = show_runs([RunReader.open(path) for path in dict.fromkeys(paths)])
    rescued = folder / "rescued.yaml"
    return write_page(
        folder / "report.html",
        "rescue",
        "Rescue",
        runs.charts,
        story=story,
        fix=_settings(story["chosen"]["changes"]) if story["chosen"] else "",
        diagnoses=[_diagnosis(diagnosis) for diagnosis in causes_told(story)[:2]],
        tried_head=_titles(story),
        tried=_rows(story) if story["tried"] else [],
        hypotheses=hypotheses(story),
        verified_head=_verified_titles(story),
        decided_by=_decided_by(story) if story["verified"] else "",
        verified=[_verified(row, _played(story)) for row in story["verified"]],
        rescued=rescued.read_text("utf-8") if rescued.exists() else None,
        runs=runs,
    )


def _settings(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in changes.items())


def _story(folder: Path) -> dict[str, Any]:
    story: dict[str, Any] = json.loads((folder / "rescue.json").read_text("utf-8"))
    return story


def _tried_table(story: dict[str, Any]) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0))
    for title in _titles(story):
        grid.add_column(title, overflow="fold")
    for row in _rows(story):
        grid.add_row(*map(plain, row))
    return grid


def _titles(story: dict[str, Any]) -> tuple[str, ...]:
    length = ("length",) if _played(story) else ()
    return ("tried", "why", _score(story), *length, "state", "helped")


def _played(story: dict[str, Any]) -> bool:
    """Whether there are episodes, whose length tells something: clones and texts have none."""
    rows = [story["control"] or {}, *story["tried"]]
    return any(row.get("final_length") is not None for row in rows)


def _score(story: dict[str, Any]) -> str:
    """What runs are compared by: a clone that was never played by how well it fits, say."""
    return str((story["control"] or {}).get("score", "return"))


def _rows(story: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    played = _played(story)
    if story["control"]:
        control = story["control"]
        rows.append(("control", "no fix", *_result(control, played), ""))
    rows += [
        (row["name"], row["origin"], *_result(row, played), "yes" if row["helped"] else "no")
        for row in story["tried"]
    ]
    return rows


def _result(row: dict[str, Any], played: bool = True) -> tuple[str, ...]:
    sick = " ".join(row["severe"])
    calm = row["status"] == "finished" and not sick
    state = "nothing severe" if calm else f"{row['status']} {sick}"
    length = (f"{number(row['final_length'], ',.0f')}",) if played else ()
    return (f"{number(row['final_return'], ',.4g')}", *length, state)


def _verified_table(story: dict[str, Any]) -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0))
    played = _played(story)
    score = f"{_score(story)}, length" if played else _score(story)
    for title in ("fresh seed", f"original: {score}", f"rescued: {score}", "better"):
        grid.add_column(title)
    for row in story["verified"]:
        before, after = row["before"], row["after"]
        grid.add_row(
            plain(str(row["seed"])),
            *(
                f"{number(side['final_return'], ',.4g')}"
                + (f", {number(side['final_length'], ',.0f')}" if played else "")
                for side in (before, after)
            ),
            "yes" if row["better"] else "no",
        )
    return grid


def _diagnosis(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "confidence": number(record["confidence"], ".2f"), "remedies": ()}


def _decided_by(story: dict[str, Any]) -> str:
    return (
        f"decided by {story['measure']}; chance alone would do it with p = {story['p_value']:.2g}"
    )


def _verified_titles(story: dict[str, Any]) -> tuple[str, ...]:
    score, length = _score(story), ("length",) if _played(story) else ()
    return ("fresh seed", f"original {score}", *length, f"rescued {score}", *length, "better")


def _verified(row: dict[str, Any], played: bool) -> tuple[str, ...]:
    """A fresh seed, for the page."""
    before, after = _result(row["before"], played)[:-1], _result(row["after"], played)[:-1]
    return (str(row["seed"]), *before, *after, "yes" if row["better"] else "no")
