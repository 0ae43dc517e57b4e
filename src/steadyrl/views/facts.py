"""What is known of a run besides its verdict: how far, how long, when last heard of."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steadyrl.verdict import Verdict

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

WHERE = ("machine", "passes")  # of an event that says where training began or went on


def heard(store: Recorded) -> float:
    """When the record last grew."""
    file = store.path if store.path.is_file() else store.path / "steps.jsonl"
    if not file.exists():
        file = store.path
    try:
        return file.stat().st_mtime
    except OSError:
        return time.time()


def facts_of(
    store: Recorded, verdict: Verdict, taken: int, seconds: float
) -> list[tuple[str, str]]:
    """What one asks first of any run."""
    config = store.config
    shown = [
        ("task", config.task),
        ("algorithm", verdict.source or str(config.value_of("algorithm", ""))),
        ("seed", "" if config.task == "unknown" else str(config.seed)),
        (verdict.unit.many, f"{taken:,}" + (f" of {config.budget:,}" if config.budget else "")),
        ("time", duration(seconds)),
        ("status", f"{verdict.status} {verdict.message}".strip()),
    ]
    return [(name, text) for name, text in shown if text]


def made_with(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Versions and machines that it was trained with: more than one if it was resumed elsewhere."""
    told = [
        f"{event['versions']} on {', '.join(str(event[k]) for k in WHERE if event.get(k))}"
        for event in events
        if event.get("versions")
    ]
    return list(dict.fromkeys(told))


def duration(seconds: float) -> str:
    """As one says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def eta(verdict: Verdict, taken: int, seconds: float, budget: int | None) -> float | None:
    """Seconds until the budget is used, at the rate so far."""
    if verdict.status != "going" or not budget or not taken or budget <= taken:
        return None
    return (budget - taken) * seconds / taken


def unmeasured_of(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """Signals that rules lacked, by how to record them."""
    names = sorted({name for lacking in verdict.unmeasured.values() for name in lacking})
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(verdict.advice.get(name, ""), []).append(name)
    return list(grouped.items())
