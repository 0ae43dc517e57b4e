"""A rescue as plain data: its page, and the tables that a terminal shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from steadyrl.store.paths import resolve
from steadyrl.store.reader import RunReader
from steadyrl.store.results import RescueStory, TrialRow, read_result
from steadyrl.views.numbers import figure, number
from steadyrl.views.pages import Block, Page, code, items
from steadyrl.views.proof import proof_tree, scored_by
from steadyrl.views.rescued import settings_changed, told_rescue
from steadyrl.views.run import RunView
from steadyrl.views.runs import view_runs

RULE = re.compile(r"[A-Z]\d{3} ")
DECIDED = {"episode length": ("eval.length_mean", "rollout.length_mean")}
Rows = tuple[Sequence[str], list[tuple[str, ...]]]  # titles, and a row each


def rescue_page(folder: Path) -> Page:
    """What was wrong, what was changed, whether it is proved; then all runs over each other."""
    story: RescueStory = read_result(folder, "rescue")
    told: list[TrialRow] = [*story["tried"]]
    for row in story["verified"]:
        told += [row["before"], row["after"]]
    original = resolve(folder, "original")
    paths = [original, *(resolve(folder, row["run"]) for row in told)]
    runs = view_runs([RunReader.open(path) for path in dict.fromkeys(paths)])
    rescued = resolve(folder, "rescued.yaml")
    proved = story["status"] == "verified"
    use = proved and rescued.is_file()
    named = shlex.quote(str(rescued if use else original))
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
    if rescued.is_file():
        blocks.append(code("rescued.yaml", rescued.read_bytes().decode("utf-8", errors="replace")))
    return Page(
        kind="rescue",
        title=_title(runs[0]),
        tone="good" if proved else "bad" if story["tried"] else "unknown",
        headline=story["status"],
        told=told_rescue(story, {_called(run.path, folder): run for run in runs}),
        command=f"steadyrl {'train' if use else 'report'} {named}",
        command_does="trains with the settings that were proved" if use else "the run as it was",
        blocks=blocks,
        runs=runs,
        groups=[_group(run.path, folder, story) for run in runs],
        decided=DECIDED.get(str(story.get("measure")), ()),
    )


def _title(original: RunView) -> str:
    """What was rescued: the algorithm, and the task."""
    facts = dict(original.facts)
    named = [facts[name] for name in ("algorithm", "task") if name in facts]
    return f"Rescue of {' on '.join(named)}" if named else "Rescue"


def _called(path: str, folder: Path) -> str:
    """A run as the story names it: by its way from the story's folder."""
    place = Path(path)
    return str(place.relative_to(folder)) if place.is_relative_to(folder) else path


def _group(path: str, folder: Path, story: RescueStory) -> str:
    """What a run shows: the settings as they were, the fix, or something else that was tried."""
    chosen = (story["chosen"] or {}).get("name")
    fixed = [row["run"] for row in story["tried"] if row["name"] == chosen]
    fixed += [row["after"]["run"] for row in story["verified"]]
    before = ["original", *(row["before"]["run"] for row in story["verified"])]
    if Path(path) in [resolve(folder, run) for run in before]:
        return "as it was"
    fix = Path(path) in [resolve(folder, run) for run in fixed]
    return "with the fix" if fix else "other things that were tried"


def made_worse(story: RescueStory) -> list[str]:
    """Which changes are not advice, whatever proposed them."""
    sick = [row["name"] for row in story["tried"] if row["severe"] and row["origin"] != "placebo"]
    names = ", ".join(sick)
    return [f"something severe was found with: {names}"] if sick else []


def hypotheses(story: RescueStory) -> list[str]:
    """What became of the changes that the user asked for."""
    said = []
    for row in story["tried"]:
        if row["origin"] == "asked for":
            verdict = "helped" if row["helped"] else "did not help, so that was not the cause"
            length = number(row["final_length"], ",.0f")
            played = "" if row["final_length"] is None else f"episodes of {length} steps, "
            result = f"{scored_by(story)} {figure(row['final_return'])}"
            said.append(f"{row['name']} {verdict}: {played}{result}")
    return said


def tried_table(story: RescueStory) -> Rows:
    """Everything that was tried once, the control first."""
    played = _played(story)
    length = ("length",) if played else ()
    titles = ("tried", "why", scored_by(story), *length, "state", "helped")
    rows: list[tuple[str, ...]] = []
    if story["control"]:
        rows.append(("control", "no fix", *_result(story["control"], played), ""))
    rows += [
        (_worded(row["name"]), _worded(row["origin"]), *_result(row, played), _yes(row["helped"]))
        for row in story["tried"]
    ]
    return titles, rows


def fresh_table(story: RescueStory) -> Rows:
    """The proof, seed by seed."""
    played = _played(story)
    score = f"{scored_by(story)}, length" if played else scored_by(story)

    def told(side: TrialRow) -> str:
        length = f", {number(side['final_length'], ',.0f')}" if played else ""
        return f"{figure(side['final_return'])}{length}"

    rows: list[tuple[str, ...]] = [
        (str(row["seed"]), told(row["before"]), told(row["after"]), _yes(row["better"]))
        for row in story["verified"]
    ]
    return ("fresh seed", f"original: {score}", f"rescued: {score}", "better"), rows


def severe_rules(story: RescueStory) -> list[str]:
    """Every rule that found something severe in what was tried."""
    rows: list[TrialRow] = [*([story["control"]] if story["control"] else []), *story["tried"]]
    return list(dict.fromkeys(str(rule) for row in rows for rule in row["severe"]))


def _played(story: RescueStory) -> bool:
    """Whether there are episodes, whose length tells something: clones and texts have none."""
    rows: list[TrialRow] = [*([story["control"]] if story["control"] else []), *story["tried"]]
    return any(row.get("final_length") is not None for row in rows)


def _worded(name: str) -> str:
    """A rule's name in words, which a narrow column can wrap; anything else as it is."""
    return name.replace("-", " ") if RULE.match(name) else name


def _result(row: TrialRow, played: bool = True) -> tuple[str, ...]:
    sick = " ".join(row["severe"])
    calm = row["status"] == "finished" and not sick
    ended = "" if row["status"] == "finished" else row["status"]
    state = "nothing severe" if calm else ", ".join(filter(None, (ended, sick and f"sick: {sick}")))
    length = (f"{number(row['final_length'], ',.0f')}",) if played else ()
    return (f"{figure(row['final_return'])}", *length, state)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
