"""The fault bench's page: what was caught, named, repaired, and what healthy runs were told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from steadyrl.stability.causes import CAUSES
from steadyrl.stability.detectors import DEFAULT
from steadyrl.store.results import FaultBench, FaultRow, Rate, read_result
from steadyrl.views.pages import Block, Page, items, rates, table, text

FIGURES = {
    "recall": "faults caught",
    "top_1_cause": "right cause named first",
    "top_3_cause": "right cause among three",
    "latent_named": "harmless faults named right",
    "severe_false_alarms": "healthy runs called sick",
    "warned_healthy_runs": "healthy runs that got a warning",
}
FAULTS = ("fault", "runs", "did harm", "caught", "named first", "causes that were named")
ALARMS = ("rule", "severity", "healthy runs", "what it said of one of them")
ABOUT = "Development: tasks that rules were written on. Held out: tasks kept to test them."
ARMS = {
    "prescribed": "what was prescribed",
    "random": "a random change",
    "lower learning rate": "a lower learning rate",
    "none": "no change",
}
CALLED = {cause.id: cause.name for cause in CAUSES}
RULES = {rule.id: rule for rule in DEFAULT}


def fault_bench_page(place: Path) -> Page:
    """From a bench's folder, or from a file of its results."""
    found: FaultBench = read_result(place, "faults")
    whole = found["all"]
    repair: dict[str, Rate] = {}
    for arm, rate in found.get("repair", {}).items():
        if isinstance(rate, dict) and rate["of"]:  # beside the arms stand other figures
            repair[arm] = cast("Rate", rate)
    suite = str(found.get("benchmark", "")).removeprefix("fault_bench").strip("_")
    return Page(
        kind="faults",
        title=f"Fault bench {suite.replace('_', '-')}".strip(),
        tone="good" if _sound(whole) else "doubtful",
        told=_told(whole, repair),
        blocks=[
            rates("What was caught and named", _figures(found), ABOUT),
            *([rates("Repaired, on a fresh seed", _arms(repair))] if repair else []),
            *_harm(found.get("harm")),
            table("By fault", FAULTS, [_row(n, r) for n, r in found["by_fault"].items()]),
            *_alarms(found.get("false_alarms", [])),
            *_measured(found),
        ],
    )


def _sound(whole: Mapping[str, Rate]) -> bool:
    return bool(whole["severe_false_alarms"]["count"] == 0 and whole["recall"]["share"] >= 0.9)


def _told(whole: Mapping[str, Rate], repair: Mapping[str, Rate]) -> list[str]:
    caught, first, alarms = (
        whole[name] for name in ("recall", "top_1_cause", "severe_false_alarms")
    )
    said = [
        f"{caught['count']} of {caught['of']} faults that did harm were caught, and "
        f"{first['count']} had the right cause named first.",
        f"{alarms['count']} of {alarms['of']} healthy runs were called sick.",
    ]
    if "prescribed" in repair and repair["prescribed"]["of"]:
        fixed = repair["prescribed"]
        said.append(
            f"The first remedy of the first cause repaired {fixed['count']} of {fixed['of']}."
        )
    return said


def _figures(found: FaultBench) -> list[dict[str, Any]]:
    """Every figure, for the cases that limits were set on, for the held-out ones, and for all."""
    shown = []
    sides = (
        ("development", found.get("development", {})),
        ("held out", found.get("test", {})),
        ("all", found["all"]),
    )
    for name, title in FIGURES.items():
        for called, side in sides:
            rate = side.get(name)
            if rate and rate["of"]:
                shown.append({"name": title, "of_what": called, **rate})
    return shown


def _arms(repair: Mapping[str, Rate]) -> list[dict[str, Any]]:
    return [
        {"name": ARMS.get(arm, arm), "of_what": "", **rate}
        for arm, rate in repair.items()
        if rate["of"]
    ]


def _harm(harm: Mapping[str, Any] | None) -> list[Block]:
    if not harm or not harm.get("of"):
        return []
    said = f"{harm['count']} of {harm['of']} healthy runs were made worse by what was prescribed."
    harmed = [str(run).removesuffix("--prescribed") for run in harm.get("harmed", [])]
    return [items("Harm", [said, *harmed])]


def _row(name: str, row: FaultRow) -> tuple[str, ...]:
    answers = ", ".join(
        f"{_worded(CALLED.get(cause, ''), cause)} {count}×"
        for cause, count in row["answers"].items()
    )
    counts = (row["runs"], row["effective"], row["caught"], row["top_1"])
    return (name.replace("-", " "), *map(str, counts), answers)


def _alarms(found: Sequence[Mapping[str, Any]]) -> list[Block]:
    """By rule; what was said of the machine is only counted."""
    told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    busy: set[str] = set()
    for alarm in found:
        rule, severity = str(alarm.get("rule", "")), str(alarm.get("severity", ""))
        if rule in RULES and RULES[rule].concerns == "machine":
            busy.add(str(alarm.get("run", "")))
        else:
            told.setdefault((rule, severity), []).append(alarm)
    rows = [
        (
            _worded(RULES[rule].name if rule in RULES else "", rule),
            severity,
            str(len({str(alarm.get("run", "")) for alarm in alarms})),
            str(alarms[0].get("message", "")),
        )
        for (rule, severity), alarms in sorted(told.items(), key=lambda one: -len(one[1]))
    ]
    were = "was" if len(busy) == 1 else "were"
    about = f"Besides, {len(busy)} {were} told of a busy machine." if busy else ""
    return [table("What healthy runs were told", ALARMS, rows, about)] if rows or busy else []


def _worded(name: str, identity: str) -> str:
    """A rule as people say it, and its id."""
    return f"{name.replace('-', ' ')} ({identity})" if name else identity


def _measured(found: FaultBench) -> list[Block]:
    machine, seeds = found.get("machine"), found.get("seeds")
    said = []
    if isinstance(machine, Mapping):
        said.append(", ".join(f"{name} {value}" for name, value in machine.items()))
    if isinstance(seeds, Mapping):
        said.append("seeds: " + ", ".join(f"{name} {value}" for name, value in seeds.items()))
    return [text(*said, title="Measured")] if said else []
