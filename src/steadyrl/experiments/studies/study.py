"""A study: a claim, what is run, and the rule that decides, all declared before anything is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from steadyrl.experiments.executor import Executor
from steadyrl.experiments.trials import Outcome, Trial, run_trials

Conclusion = Literal["confirmed", "refuted", "depends on", "not decided"]
Decided = Literal["yes", "no", "open"]  # to one part of a question, chance excluded at 5 %
Say = Callable[[str], None]


@dataclass(frozen=True)
class StudyResult:
    """What a study found: its verdict, why, and the table it rests on."""

    verdict: Conclusion
    because: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    curves: Sequence[Mapping[str, Any]] = ()  # charts: title, about, x, series of name, x and y


@dataclass(frozen=True, kw_only=True)
class Study:
    """One claim of the documents, put to the test."""

    id: str
    claim: str
    question: str
    setup: str  # what is run
    rule: str  # how it is decided, in words; `run` carries it out
    seeds: int
    # folder, seeds, quick, executor, say
    run: Callable[[Path, int, bool, Executor, Say], StudyResult]


def together(answers: Iterable[Decided]) -> Conclusion:
    """The verdict on a claim of which each part has its answer."""
    found = set(answers)
    if "open" in found:
        return "not decided"
    if found == {"yes"}:
        return "confirmed"
    return "depends on" if "yes" in found else "refuted"


def run_all(trials: Sequence[Trial], executor: Executor, say: Say) -> dict[str, Outcome]:
    """Outcomes by the trials' names."""
    outcomes = {}
    for outcome in run_trials(trials, executor):
        outcomes[outcome.name] = outcome
        state = " ".join(outcome.severe) or "no severe finding"
        say(f"  {outcome.name}: {outcome.said}, {state}")
    return outcomes


def page(study: Study, found: Mapping[str, Any]) -> str:
    """A study's docs page as Markdown, from its stored result."""
    lines = [
        f"# {study.id}: {found['verdict']}",
        "",
        f"**Claim.** {study.claim}",
        "",
        f"**Question.** {study.question}",
        "",
        f"**What is run.** {study.setup}",
        "",
        f"**Rule, declared beforehand.** {study.rule}",
        "",
        f"**Verdict: {found['verdict']}.** {found['because']}",
        "",
        "| " + " | ".join(found["head"]) + " |",
        "|" + "---|" * len(found["head"]),
        *("| " + " | ".join(row) + " |" for row in found["rows"]),
        "",
        *(f"{note}\n" for note in found["notes"]),
        *_caution(study, found["seeds"]),
        f"Measured {found['date']} with `steadyrl study {study.id} --seeds {found['seeds']}`, "
        f"{found['machine']}, commit {found['commit']}.",
        "",
    ]
    return "\n".join(lines)


def _caution(study: Study, seeds: int) -> list[str]:
    if seeds >= study.seeds:
        return []
    return [
        f"Run on {seeds} seeds instead of the {study.seeds} declared: the intervals are wider, and "
        "the verdict takes that into account.\n"
    ]
