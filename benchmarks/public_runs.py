"""Our rules on a folder of public runs with a file of labels: who is called what, and how often.

LABELS is a CSV file with a line per run: its folder below RUNS (`run` or `folder`), and either
`verdict` (healthy, suspicious, sick, cannot tell), as an experienced reader said before any tool
looked, or `ended_well` (yes, no, unknown). `kind` and `algorithm` are optional. Every second run by
sorted name is the half that rules may be calibrated on; the other half is for one look.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import conclude

from steadyrl.core.foreign_config import TRAITS_OF
from steadyrl.judging import judged
from steadyrl.maths.statistics import wilson
from steadyrl.stability.causes import CAUSES
from steadyrl.store.foreign.run import ForeignRun

HALVES = ("development", "held out")
ALARMS = ("suspicious", "sick", "failed")
RETURNS = ("rollout.return_mean", "eval.return_mean")
KINDS_OF = {cause.id: cause.traits for cause in CAUSES}


@dataclass
class Answer:
    """What was said of one run, beside its label."""

    run: str
    kind: str
    label: str
    half: str
    said: str = "unreadable"
    family: str = ""
    signals: int = 0
    has_return: bool = False
    cause: str = ""
    confidence: float = 0.0
    findings: list[str] = field(default_factory=list)
    sentence: str = ""
    foreign_cause: bool = False

    @property
    def alarmed(self) -> bool:
        """Whether anything was found fault with."""
        return self.said in ALARMS


def labels_of(file: Path) -> list[Answer]:
    """One unanswered question per line of the file."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    verdicts = {"yes": "healthy", "no": "ended badly", "unknown": "unknown"}
    found = []
    for row in rows:
        run = row.get("run") or row.get("folder") or ""
        kind = row.get("kind") or run.split("/")[0]
        found.append(Answer(run, kind, row.get("verdict") or verdicts[row["ended_well"]], ""))
    found.sort(key=lambda answer: answer.run)
    for position, answer in enumerate(found):
        answer.half = HALVES[position % 2]
    return found


def ask(answer: Answer, folder: Path) -> None:
    """Let the rules look at a run, log alone, with default options."""
    try:
        run = ForeignRun(folder / answer.run)
        found = judged(run)
    except Exception as error:
        answer.sentence = f"{type(error).__name__}: {error}"
        return
    verdict, window = found.verdict, found.window
    answer.said, answer.sentence = verdict.headline, verdict.sentence
    answer.family = run.config.family
    names = {name for step in run.steps() for name in step.signals}
    answer.signals = sum(not name.startswith(("other.", "run.")) for name in names)
    answer.has_return = any(window.has(name) for name in RETURNS)
    answer.findings = [f"{f.rule} {f.severity} at {f.taken:,}" for f in verdict.findings]
    for diagnosis in verdict.diagnoses[:1]:
        answer.cause, answer.confidence = diagnosis.cause, diagnosis.confidence
    language = any(name.startswith("language.") for name in names)
    traits = TRAITS_OF[run.config.family] or frozenset()
    answer.foreign_cause = any(
        ("language" in KINDS_OF[d.cause] and not language)
        or not traits.issuperset(KINDS_OF[d.cause])
        for d in verdict.diagnoses
    )


def share(answers: Sequence[Answer], what: Callable[[Answer], bool]) -> dict[str, Any]:
    """How many of them, with the interval of the share."""
    count = sum(map(what, answers))
    found = wilson(count, len(answers))
    interval = [round(found.low, 3), round(found.high, 3)]
    return {"count": count, "of": len(answers), "interval": interval}


def table(answers: Sequence[Answer]) -> dict[str, Any]:
    """The questions that decide whether strangers can trust the rules."""
    by: dict[str, list[Answer]] = {}
    for answer in answers:
        by.setdefault(answer.label, []).append(answer)
    good, bad = by.get("healthy", []), by.get("ended badly", [])
    sick, suspicious = by.get("sick", []), by.get("suspicious", [])
    dark = by.get("cannot tell", [])
    said_healthy = ("healthy", "recovered")
    questions = {
        "healthy ones called sick": share(good, lambda a: a.said in ("sick", "failed")),
        "healthy ones called suspicious": share(good, lambda a: a.said == "suspicious"),
        "healthy ones called healthy or recovered": share(good, lambda a: a.said in said_healthy),
        "sick ones caught": share(sick, lambda a: a.alarmed),
        "suspicious ones caught": share(suspicious, lambda a: a.alarmed),
        "sick or suspicious ones caught": share([*sick, *suspicious], lambda a: a.alarmed),
        "runs that ended badly caught": share(bad, lambda a: a.alarmed),
        "healthy said where nobody can tell": share(dark, lambda a: a.said in said_healthy),
        "a cause of another kind": share(answers, lambda a: a.foreign_cause),
        "at least one signal mapped": share(answers, lambda a: a.signals > 0),
        "a return mapped": share(answers, lambda a: a.has_return),
        "the algorithm known": share(answers, lambda a: a.family not in ("", "unknown")),
    }
    return {question: found for question, found in questions.items() if found["of"]}


def say(line: str) -> None:
    """A line of the table."""
    sys.stdout.write(line.rstrip() + "\n")


def told(found: dict[str, Any]) -> str:
    """A share in a few characters."""
    low, high = found["interval"]
    return f"{found['count']:>3} of {found['of']:<3} [{low:.2f}, {high:.2f}]"


def show(answers: Sequence[Answer], results: dict[str, Any], details: Sequence[str]) -> None:
    """Print the table, by halves, and the runs of the halves that may be looked at."""
    columns = list(results)
    say(" " * 42 + "  ".join(f"{name:<24}" for name in columns))
    for question in results[columns[0]]:
        cells = (told(results[name][question]) for name in columns if question in results[name])
        say(f"{question:<42}" + "  ".join(f"{cell:<24}" for cell in cells))
    for answer in answers:
        if answer.half in details:
            say(
                f"{answer.run:<40} {answer.kind[:18]:<18} {answer.label:<12} {answer.said:<12} "
                f"{answer.family:<8} {answer.cause} {answer.confidence:.2f} "
                f"{'; '.join(answer.findings)} | {answer.sentence[:160]}"
            )


def by_kind(answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
    """The same questions for every kind of log."""
    kinds = sorted({answer.kind for answer in answers})
    return {kind: table([a for a in answers if a.kind == kind]) for kind in kinds}


def main() -> int:
    """Judge every labelled run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder of public runs")
    parser.add_argument("--labels", type=Path, required=True, help="CSV file of labels")
    parser.add_argument("--name", default="", help="of the results: public_runs_NAME.json")
    parser.add_argument("--half", choices=HALVES, help="judge one half only")
    parser.add_argument("--details", action="store_true", help="print the development half's runs")
    parser.add_argument("--all-details", action="store_true", help="print all runs: the one look")
    arguments = parser.parse_args()
    answers = [a for a in labels_of(arguments.labels) if arguments.half in (None, a.half)]
    begun = time.perf_counter()
    for answer in answers:
        ask(answer, arguments.runs)
    seconds = time.perf_counter() - begun
    results = {
        half: table([a for a in answers if a.half == half])
        for half in HALVES
        if arguments.half in (None, half)
    } | {"all": table(answers)}
    shown = HALVES if arguments.all_details else HALVES[: int(arguments.details)]
    show(answers, results, shown)
    say(f"{len(answers)} runs in {seconds:.1f} s")
    if arguments.name:
        conclude(
            f"public_runs_{arguments.name}",
            {"results": results, "by kind": by_kind(answers), "seconds": round(seconds, 1)},
            keep=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
