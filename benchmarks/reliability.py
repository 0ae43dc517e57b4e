"""Is a confidence a frequency? Of causes named at 0.8, the share that was right, and a map if not.

Every run whose fault is known gives an answer: the first cause that was named, the weight of its
evidence, and whether it is one of the right ones. A cause named for a healthy run is a wrong
answer; where none was named there is no answer. Answers come from runs that other benchmarks have
made (fault_bench.py, foreign_faults.py) and from public runs with a file of labels that has a
column `causes` (ids, separated by blanks; empty where the reader named none that we have).

The map is fitted on development runs (the fault bench's own, seeds below 800 of the others, the
development half of public runs) and judged on the rest. It is shrunk towards what was said by
PRIOR answers per band: few runs move it little. --write puts it into the package, if there were
enough answers to fit it on.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import foreign_faults
import numpy as np
from common import ROOT, conclude
from public_runs import HALVES, labels_of
from scipy.optimize import isotonic_regression

from steadyrl.experiments.fault_bench import SUITES
from steadyrl.experiments.fault_bench.suite import Suite
from steadyrl.judging import judge
from steadyrl.maths.statistics import wilson
from steadyrl.stability.confidence import FILE, fingerprint, reliability
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.verdict import Verdict

BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))
PRIOR = 5  # answers per band that are taken to be as right as they say
CENTRES = (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
FEWEST = 60  # answers about development runs, without which the map in force stays as it is
# Rules were written with an eye on development runs: nothing is surer than this because of them.
CEILING = 0.95
RESAMPLED = 2000


@dataclass(frozen=True)
class Answer:
    """A cause that was named, and whether it is right."""

    kind: str  # how the run was looked at
    case: str
    development: bool
    cause: str
    weight: float
    right: bool


def answer(
    kind: str, case: str, verdict: Verdict, wanted: Sequence[str], *, development: bool
) -> Iterator[Answer]:
    """The first cause named, if any was."""
    for first in verdict.diagnoses[:1]:
        right = first.cause in wanted
        yield Answer(kind, case, development, first.cause, first.weight, right)


def at_home(folder: Path, suite: Suite) -> Iterator[Answer]:
    """Runs of the fault bench that are there."""
    known = {
        case.name.rsplit("-seed", 1)[0]: case
        for case in (*suite.healthy_cases(1), *suite.faulty_cases(1))
    }
    for summary in sorted(folder.glob("*-seed*/summary.json")):
        path = summary.parent
        case = known.get(path.name.rsplit("-seed", 1)[0])  # whatever seeds it was run with
        if case is None:
            continue
        wanted = case.fault.causes if case.fault else ()
        yield from answer(
            "our own trainers", path.name, judge(path), wanted, development=case.development
        )


def of_strangers_faults(folder: Path) -> Iterator[Answer]:
    """Runs of foreign_faults.py that are there, looked at in three ways."""
    faults = {(f.task, f.name): f for f in foreign_faults.FAULTS}
    for done in sorted(folder.glob("*/done.json")):
        name, seed = done.parent.name.rsplit("-seed", 1)
        task = next(t for t in foreign_faults.TASKS if name.startswith(f"{t}-"))
        fault = faults.get((task, name.removeprefix(f"{task}-")))
        case = foreign_faults.Case(task, int(seed), fault)
        development = int(seed) < foreign_faults.UNSEEN
        for kind, look in foreign_faults.WAYS.items():
            verdict = look(folder, case)
            wanted = fault.causes if fault else ()
            yield from answer(
                f"SB3, {kind.replace('_', ' ')}",
                case.name,
                verdict,
                wanted,
                development=development,
            )


def of_public_runs(folder: Path, labels: Path) -> Iterator[Answer]:
    """Public runs of which a reader named causes that we have, or that the reader found healthy."""
    with labels.open(encoding="utf-8", newline="") as text:
        rows = {row.get("run") or row["folder"]: row for row in csv.DictReader(text)}
    for one in labels_of(labels):
        wanted = rows[one.run].get("causes", "").split()
        if not wanted and one.label != "healthy":
            continue
        verdict = judge(ForeignRun(folder / one.run))
        yield from answer(
            "public runs", one.run, verdict, wanted, development=one.half == HALVES[0]
        )


Map = Callable[[float], float]


def fitted(answers: Sequence[Answer]) -> list[tuple[float, float]]:
    """A rising line through (weight, share that is right), shrunk towards what was said."""
    places = [(centre, centre, float(PRIOR)) for centre in CENTRES]
    places += [(a.weight, float(a.right), 1.0) for a in answers]
    places.sort()
    x, y, weights = (np.array(column) for column in zip(*places, strict=True))
    found = isotonic_regression(y, weights=weights)
    edges = found.blocks
    points = [(0.0, 0.0)]
    for low, high in pairwise(edges):
        middle = float(np.average(x[low:high], weights=weights[low:high]))
        points.append((round(middle, 3), round(min(float(found.x[low]), CEILING), 3)))
    return [*points, (1.0, points[-1][1])]


def through(points: Sequence[tuple[float, float]]) -> Map:
    """The line as a function."""
    xs, ys = zip(*points, strict=True)
    return lambda weight: float(np.interp(weight, xs, ys))


def table(answers: Sequence[Answer], said: Map) -> dict[str, Any]:
    """By bands of what is said: how many answers, what they said, how many were right."""
    rows: dict[str, Any] = {}
    for low, high in BANDS:
        inside = [a for a in answers if low <= said(a.weight) < high]
        right = sum(a.right for a in inside)
        estimate = wilson(right, len(inside)) if inside else None
        rows[f"{low:g} to {min(high, 1.0):g}"] = {
            "answers": len(inside),
            "said": round(float(np.mean([said(a.weight) for a in inside])), 3) if inside else None,
            "right": right,
            "share": round(right / len(inside), 3) if inside else None,
            "interval": [round(estimate.low, 3), round(estimate.high, 3)] if estimate else None,
        }
    return {"bands": rows, "answers": len(answers), "brier": brier(answers, said)}


def brier(answers: Sequence[Answer], said: Map) -> dict[str, Any]:
    """Mean squared difference between what is said and what is so, with a bootstrap interval."""
    if not answers:
        return {"score": None, "interval": None}
    losses = np.array([(said(a.weight) - a.right) ** 2 for a in answers])
    rng = np.random.default_rng(0)
    drawn = losses[rng.integers(0, len(losses), (RESAMPLED, len(losses)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {
        "score": round(float(losses.mean()), 3),
        "interval": [round(float(low), 3), round(float(high), 3)],
    }


def say(line: str) -> None:
    """A line of the tables."""
    sys.stdout.write(line.rstrip() + "\n")


def show(title: str, found: dict[str, Any]) -> None:
    """One table."""
    score = found["brier"]
    say(f"\n{title}: {found['answers']} answers, Brier {score['score']} {score['interval'] or ''}")
    for band, row in found["bands"].items():
        if row["answers"]:
            low, high = row["interval"]
            say(
                f"  said {band:<10} {row['right']:>3} of {row['answers']:<3} right, "
                f"{row['share']:.2f} [{low:.2f}, {high:.2f}]; said on average {row['said']:.2f}"
            )


def gathered(arguments: argparse.Namespace) -> list[Answer]:
    """All answers of all runs that are there."""
    found: list[Answer] = []
    for name, suite in SUITES.items():
        folder = arguments.home / f"fault-bench-{name}"
        if folder.is_dir():
            found += at_home(folder, suite)
    if arguments.foreign.is_dir():
        found += of_strangers_faults(arguments.foreign)
    for folder, labels in zip(arguments.runs, arguments.labels, strict=True):
        found += of_public_runs(folder, labels)
    return found


def main() -> int:
    """Gather, judge, fit, judge again, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path("runs"), help="of fault-bench-SUITE")
    parser.add_argument("--foreign", type=Path, default=Path("runs/foreign-faults"))
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="folders of public runs")
    parser.add_argument("--labels", type=Path, nargs="*", default=[], help="their files of labels")
    parser.add_argument("--write", action="store_true", help="put the fitted map into the package")
    parser.add_argument("--quick", action="store_true", help="keep no figures")
    arguments = parser.parse_args()
    if not reliability().current:
        say("the map in force was fitted for other rules: --write refits it")
    answers = gathered(arguments)
    if not answers:
        sys.exit("no recorded runs were found; make some with fault_bench.py or foreign_faults.py")
    development = [a for a in answers if a.development]
    others = [a for a in answers if not a.development]
    points = fitted(development)
    line, as_said = through(points), through([(0.0, 0.0), (1.0, 1.0)])
    results: dict[str, Any] = {"points": points, "rules": fingerprint()}
    results["development, as said"] = table(development, as_said)
    results["judged, as said"] = table(others, as_said)
    results["judged, mapped"] = table(others, line)
    for kind in sorted({a.kind for a in answers}):
        some = [a for a in answers if a.kind == kind]
        results[f"all of {kind}, as said"] = table(some, as_said)
        results[f"all of {kind}, mapped"] = table(some, line)
    for title, found in results.items():
        if isinstance(found, dict):
            show(title, found)
    say("\nweight -> share: " + ", ".join(f"{x:g} -> {y:g}" for x, y in points))
    if arguments.write and len(development) < FEWEST:
        sys.exit(f"{len(development)} answers to fit on, {FEWEST} are needed: nothing was written")
    if arguments.write:
        today = datetime.now(UTC).strftime("%Y-%m-%d")
        fitted_on = f"{len(development)} answers about development runs, {today}"
        record = {"points": points, "fitted_on": fitted_on, "rules": fingerprint()}
        file = ROOT / "src" / "steadyrl" / "stability" / FILE
        file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    results["answers"] = [vars(a) for a in answers]
    conclude("reliability", results, keep=not arguments.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
