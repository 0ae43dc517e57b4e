"""The story of a rescue, on the terminal and as a page. Reads rescue.json and run files only."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape as plain

from steadyrl.report.fitting import EVIDENCE, print_table, say
from steadyrl.report.html import view_runs
from steadyrl.report.numbers import figure, number
from steadyrl.store.paths import resolve
from steadyrl.store.reader import RunReader
from steadyrl.viewer.frame import write_page
from steadyrl.views.history import as_text
from steadyrl.views.pages import Block, Page, code, items
from steadyrl.views.proof import name_of, proof_tree, read_story
from steadyrl.views.rescued import causes_told, settings_changed, told_rescue

RULE = re.compile(r"[A-Z]\d{3} ")
DECIDED = {"episode length": ("eval.length_mean", "rollout.length_mean")}


def print_rescue(folder: Path, report: Path) -> None:
    """Cause, what was tried, whether it is proved."""
    story = read_story(folder)
    console = Console(highlight=False)
    say(console, f"\n[bold]{plain(story['status'].upper())}[/]  {plain(story['message'])}")
    for diagnosis in causes_told(story)[:1]:
        console.print(
            f"\ncause  [bold]{plain(diagnosis['cause'])} {plain(diagnosis['name'])}[/] "
            f"({diagnosis['confidence']:.2f})"
        )
        for text in diagnosis["evidence_for"]:
            say(console, f"  for      {plain(text)}", hanging=EVIDENCE)
        for text in diagnosis["evidence_against"]:
            say(console, f"  against  {plain(text)}", hanging=EVIDENCE)
    if story["tried"]:
        _print_tried(story, console)
    if story["chosen"]:
        say(console, f"\nfix  {plain(_settings(story['chosen']['changes']))}")
    for sentence in hypotheses(story):
        say(console, plain(sentence))
    if story["verified"]:
        console.print()
        _print_verified(story, console)
        say(console, plain(_decided_by(story)))
    console.print()
    if (folder / "rescued.yaml").exists():
        console.print(f"config  {folder / 'rescued.yaml'}", soft_wrap=True, markup=False)
    console.print(f"report  {report}", soft_wrap=True, markup=False)


def _print_tried(story: dict[str, Any], console: Console) -> None:
    """Everything that was tried, the names of what was found in it, and what is not advice."""
    console.print()
    print_table(console, _titles(story), [tuple(map(plain, row)) for row in _rows(story)])
    for rule in dict.fromkeys(rule for row in _all(story) for rule in row["severe"]):
        say(console, f"[dim]{plain(f'{rule}: {name_of(str(rule))}')}[/]")
    for sentence in made_worse(story):
        say(console, plain(f"not advised: {sentence}"))


def made_worse(story: dict[str, Any]) -> list[str]:
    """Which changes are not advice, whatever proposed them."""
    sick = [row["name"] for row in story["tried"] if row["severe"] and row["origin"] != "placebo"]
    names = ", ".join(sick)
    return [f"something severe was found with: {names}"] if sick else []


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
                f"{row['name']} {verdict}: {length}{_score(story)} {figure(row['final_return'])}"
            )
    return said


def write_rescue_report(folder: Path) -> Path:
    """A page with the story, the proof and every run that was made for it."""
    return write_page(folder / "report.html", rescue_page(folder))


def rescue_page(folder: Path) -> Page:
    """What was wrong, what was changed, whether it is proved; then all runs over each other."""
    story = read_story(folder)
    told = [*story["tried"], *(r[side] for r in story["verified"] for side in ("before", "after"))]
    original = folder / "original"
    paths = [original, *(resolve(folder, row["run"]) for row in told)]
    runs = view_runs([RunReader.open(path) for path in dict.fromkeys(paths)])
    rescued = folder / "rescued.yaml"
    proved = story["status"] == "verified"
    use = proved and rescued.exists()
    command = f"steadyrl {'train' if use else 'report'} {_quoted(rescued if use else original)}"
    does = "trains with the settings that were proved" if use else "the run that was rescued"
    blocks: list[Block] = []
    if story["chosen"]:
        changes = settings_changed(story, runs[0])
        blocks.append({"type": "change", "title": "What was changed", "changes": changes})
    if story["tried"] or story["verified"]:
        blocks.append(proof_tree(story).to_block())
    if said := hypotheses(story):
        blocks.append(items("What you asked for", said))
    if said := made_worse(story):
        blocks.append(items("Not advised", said))
    if rescued.exists():
        blocks.append(code("rescued.yaml", rescued.read_text("utf-8", errors="replace")))
    return Page(
        kind="rescue",
        title="Rescue",
        tone="good" if proved else "bad" if story["tried"] else "unknown",
        headline=story["status"],
        told=told_rescue(story, {_called(run.path, folder): run for run in runs}),
        command=command,
        command_does=does,
        blocks=blocks,
        runs=runs,
        groups=[_group(run.path, folder, story) for run in runs],
        decided=DECIDED.get(str(story.get("measure")), ()),
    )


def _called(path: str, folder: Path) -> str:
    """A run as the story names it: by its way from the story's folder."""
    place = Path(path)
    return str(place.relative_to(folder)) if place.is_relative_to(folder) else path


def _group(path: str, folder: Path, story: dict[str, Any]) -> str:
    """What a run shows: the settings as they were, the fix, or something else that was tried."""
    chosen = (story["chosen"] or {}).get("name")
    fixed = [row["run"] for row in story["tried"] if row["name"] == chosen]
    fixed += [row["after"]["run"] for row in story["verified"]]
    before = ["original", *(row["before"]["run"] for row in story["verified"])]
    if Path(path) in [resolve(folder, run) for run in before]:
        return "as it was"
    fix = Path(path) in [resolve(folder, run) for run in fixed]
    return "with the fix" if fix else "other things that were tried"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _settings(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {as_text(value)}" for name, value in changes.items())


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


def _worded(name: str) -> str:
    """A rule's name in words, which a narrow column can wrap; anything else as it is."""
    return name.replace("-", " ") if RULE.match(name) else name


def _all(story: dict[str, Any]) -> list[dict[str, Any]]:
    return [*([story["control"]] if story["control"] else []), *story["tried"]]


def _rows(story: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    played = _played(story)
    if story["control"]:
        control = story["control"]
        rows.append(("control", "no fix", *_result(control, played), ""))
    rows += [
        (_worded(row["name"]), _worded(row["origin"]), *_result(row, played), _yes(row["helped"]))
        for row in story["tried"]
    ]
    return rows


def _result(row: dict[str, Any], played: bool = True) -> tuple[str, ...]:
    sick = " ".join(row["severe"])
    calm = row["status"] == "finished" and not sick
    ended = "" if row["status"] == "finished" else row["status"]
    state = "nothing severe" if calm else ", ".join(filter(None, (ended, sick and f"sick: {sick}")))
    length = (f"{number(row['final_length'], ',.0f')}",) if played else ()
    return (f"{figure(row['final_return'])}", *length, state)


def _print_verified(story: dict[str, Any], console: Console) -> None:
    played = _played(story)
    score = f"{_score(story)}, length" if played else _score(story)

    def told(side: dict[str, Any]) -> str:
        length = f", {number(side['final_length'], ',.0f')}" if played else ""
        return f"{figure(side['final_return'])}{length}"

    rows = [
        (plain(str(row["seed"])), told(row["before"]), told(row["after"]), _yes(row["better"]))
        for row in story["verified"]
    ]
    titles = ("fresh seed", f"original: {score}", f"rescued: {score}", "better")
    print_table(console, titles, rows)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _decided_by(story: dict[str, Any]) -> str:
    return (
        f"decided by {story['measure']}; chance alone would do it with p = {story['p_value']:.2g}"
    )
