"""What a rescue tried and proved, as a tree, in the measure that decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from steadyrl.core.numbers import amount
from steadyrl.stability.detectors import DEFAULT
from steadyrl.store.results import RescueStory, TrialRow

LENGTH = "episode length"
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


@dataclass(frozen=True, slots=True)
class ProofTree:
    """One experiment and what followed from it."""

    measure: str
    figures: str  # what the values are: of clones, which are judged by their health, their fit
    decided: str
    tried: Sequence[Branch]
    fresh: Sequence[Branch]

    def to_block(self) -> dict[str, Any]:
        """For a page."""
        return {"type": "proof", "title": "The proof", **asdict(self)}


def scored_by(story: RescueStory) -> str:
    """What runs are scored by: answers to held-out questions, or how well a clone fits, say."""
    control = story["control"]
    return control.get("score", "return") if control else "return"


def measure_told(story: RescueStory) -> str:
    """The measure that decided, as one says it: "return" is what the score of this task is called.

    A rescue that proved nothing is told in the measure of what it chose.
    """
    chosen = (story.get("chosen") or {}).get("name")
    measure = story.get("measure") or next(
        (str(row.get("measure")) for row in story["tried"] if row["name"] == chosen), "return"
    )
    return scored_by(story) if measure == "return" else str(measure)


def proof_tree(story: RescueStory) -> ProofTree:
    """Control, fix, random fix, placebo, what the user asked for; then fresh seeds, both ways."""
    chosen = (story.get("chosen") or {}).get("name")
    measure = measure_told(story)
    tried = []
    if control := story["control"]:
        tried.append(_branch("control", "no fix", "the run as it was", [control], measure))
    for row in story["tried"]:
        kind = "fix" if row["name"] == chosen else KINDS.get(row["origin"], "remedy")
        why, helped = _against(kind, row["origin"]), bool(row["helped"])
        tried.append(_branch(kind, row["name"], why, [row], measure, helped))
    fresh: list[Branch] = []
    if story["verified"]:
        proved = story["verified"]
        seeds = f"fresh seeds {', '.join(str(row['seed']) for row in proved)}"
        before, after = [row["before"] for row in proved], [row["after"] for row in proved]
        better = all(row["better"] for row in proved)
        fresh = [
            _branch("before", "original settings", seeds, before, measure),
            _branch("after", "with the fix", seeds, after, measure, better),
        ]
    figures = measure if measure == LENGTH else scored_by(story)
    return ProofTree(measure, figures, _decided(story, measure), tried, fresh)


def _decided(story: RescueStory, measure: str) -> str:
    if not story["verified"]:
        return "Nothing was proved on fresh seeds."
    p_value = story.get("p_value")
    chance = "" if p_value is None else f" Chance alone would do that with p = {p_value:.2g}."
    why = ""
    if measure == LENGTH:
        why = (
            " The fix changes what episodes cost, so returns before and after count different"
            " things; how long episodes last does not."
        )
    return f"Decided by {measure}.{why}{chance}"


def _branch(
    kind: str,
    name: str,
    why: str,
    rows: Sequence[TrialRow],
    measure: str,
    helped: bool | None = None,
) -> Branch:
    by_length = measure == LENGTH
    healthy = sum(row["status"] == "finished" and not row["severe"] for row in rows)
    score = str(rows[0].get("score", "return")) if rows else "return"
    other = score if by_length else "length"  # the measure that did not decide
    scores, lengths = [r["final_return"] for r in rows], [r["final_length"] for r in rows]
    values, beside = (lengths, scores) if by_length else (scores, lengths)
    said = [f"{other} {amount(value)}" for value in beside if value is not None]
    sick = list(dict.fromkeys(state for row in rows if (state := _state(row))))
    return Branch(
        kind=kind,
        name=name,
        why=why,
        values=values,
        healthy=healthy,
        runs=[str(row["run"]) for row in rows],
        helped=helped,
        beside=[*sick, *said],
    )


def _state(row: TrialRow) -> str:
    """What is wrong with a run, shortly; nothing of one that ended well."""
    named = ", ".join(f"{name_of(str(rule))} ({rule})" for rule in row["severe"])
    severe = f"found {named}" if named else ""
    ended = "" if row["status"] == "finished" else str(row["status"])
    return " ".join(part for part in (ended, severe) if part)


def told_value(value: float, measure: str) -> str:
    """A figure in words: lengths are whole steps."""
    return f"{value:,.0f}" if measure == LENGTH else amount(value)


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
