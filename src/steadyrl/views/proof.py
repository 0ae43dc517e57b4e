"""What a rescue tried and proved, as a tree, in the measure that decided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steadyrl.core.numbers import amount
from steadyrl.stability.detectors import DEFAULT

Story = Mapping[str, Any]

FIELDS = {"return": "final_return", "episode length": "final_length"}
NAMES = {rule.id: rule.name for rule in DEFAULT}
KINDS = {"random fix": "random", "placebo": "placebo", "asked for": "asked"}


@dataclass(frozen=True, slots=True)
class Branch:
    """One way that was tried: its runs' values in the measure that decided."""

    kind: str  # control, fix, remedy, random, placebo, asked, before, after
    name: str
    why: str
    values: Sequence[float | None]
    healthy: int  # of its runs
    runs: Sequence[str]
    helped: bool | None
    beside: Sequence[str]  # the other measures, for who asks
    changes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ProofTree:
    """One experiment and what followed from it."""

    measure: str
    decided: str
    tried: Sequence[Branch]
    fresh: Sequence[Branch]

    def to_block(self) -> dict[str, Any]:
        """For a page."""
        return {"type": "proof", "title": "The proof", **asdict(self)}


def read_story(folder: Path, name: str = "rescue.json") -> dict[str, Any]:
    """A kept result; the paths in it lead from its own folder."""
    story: dict[str, Any] = json.loads((folder / name).read_text("utf-8"))
    return story


def proof_tree(story: Story) -> ProofTree:
    """Control, fix, random fix, placebo, what the user asked for; then fresh seeds, both ways."""
    chosen = (story.get("chosen") or {}).get("name")
    measure = story.get("measure") or next(
        (str(row.get("measure")) for row in story["tried"] if row["name"] == chosen), "return"
    )
    tried = []
    if story.get("control"):
        tried.append(_branch("control", "no fix", "the run as it was", [story["control"]], measure))
    for row in story["tried"]:
        kind = "fix" if row["name"] == chosen else KINDS.get(row["origin"], "remedy")
        why, helped = _against(kind, row["origin"]), bool(row["helped"])
        tried.append(_branch(kind, row["name"], why, [row], measure, helped))
    fresh = []
    if story["verified"]:
        for side, name in (("before", "original settings"), ("after", "with the fix")):
            rows = [row[side] for row in story["verified"]]
            better = all(row["better"] for row in story["verified"]) if side == "after" else None
            seeds = ", ".join(str(row["seed"]) for row in story["verified"])
            fresh.append(_branch(side, name, f"fresh seeds {seeds}", rows, measure, better))
    return ProofTree(measure, _decided(story, measure), tried, fresh)


def _decided(story: Story, measure: str) -> str:
    if not story["verified"]:
        return "Nothing was proved on fresh seeds."
    p_value = story.get("p_value")
    chance = "" if p_value is None else f" Chance alone would do that with p = {p_value:.2g}."
    why = ""
    if measure == "episode length":
        why = (
            " The fix changes what episodes cost, so returns before and after count different"
            " things; how long episodes last does not."
        )
    return f"Decided by {measure}.{why}{chance}"


def _branch(
    kind: str,
    name: str,
    why: str,
    rows: Sequence[Story],
    measure: str,
    helped: bool | None = None,
) -> Branch:
    shown = FIELDS.get(measure, "final_return")
    beside = [field for field in FIELDS.values() if field != shown]
    healthy = sum(row["status"] == "finished" and not row["severe"] for row in rows)
    said = [
        f"{_called(field, row)} {_figure(row.get(field))}"
        for field in beside
        for row in rows
        if row.get(field) is not None
    ]
    sick = list(dict.fromkeys(state for row in rows if (state := _state(row))))
    changes = [f"{n} = {v}" for row in rows for n, v in dict(row.get("changes") or {}).items()]
    return Branch(
        kind=kind,
        name=name,
        why=why,
        values=[row.get(shown) for row in rows],
        healthy=healthy,
        runs=[str(row["run"]) for row in rows],
        helped=helped,
        beside=[*sick, *said],
        changes=changes,
    )


def _state(row: Story) -> str:
    """What is wrong with a run, shortly; nothing of one that ended well."""
    named = ", ".join(f"{name_of(str(rule))} ({rule})" for rule in row["severe"])
    severe = f"found {named}" if named else ""
    ended = "" if row["status"] == "finished" else str(row["status"])
    return " ".join(part for part in (ended, severe) if part)


def _called(field: str, row: Story) -> str:
    """What a figure is called: a run may be scored by something else than its return."""
    return "length" if field == "final_length" else str(row.get("score", "return"))


def told_value(value: float, measure: str) -> str:
    """A figure in words: lengths are whole steps."""
    return f"{value:,.0f}" if measure == "episode length" else amount(value)


def _figure(value: Any) -> str:
    return amount(value) if isinstance(value, int | float) else "-"


def name_of(rule: str) -> str:
    """A finding's name in words."""
    return NAMES.get(rule, rule).replace("-", " ")


def _against(kind: str, origin: str) -> str:
    """Why something was tried, in words."""
    told = {"random": "a random fix, to compare with", "asked": "you asked for it", "placebo": ""}
    if kind in told:
        return told[kind]
    cause, _, name = origin.partition(" ")
    return f"against {name.replace('-', ' ')} ({cause})" if name else origin
