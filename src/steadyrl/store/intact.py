"""What is intact in a record: which lines are Steps or events, and which Steps are missing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.records import SEVERITIES, Change, Finding, Intervention

_NUMBERS = (int, float, bool)
NOT_FINITE = ("nan", "inf", "-inf")  # how strict JSON holds them
LARGEST = 1 << 63  # what arrays of whole numbers hold
_SHOWN = 4  # gaps that are named one by one


def is_step(found: Any) -> bool:
    """Whether a line of steps.jsonl holds a Step."""
    return (
        isinstance(found, dict)
        and type(found.get("index")) is int
        and type(found.get("taken")) is int
        and max(found["index"], found["taken"]) < LARGEST
        and type(found.get("seconds")) in (int, float)
        and isinstance(found.get("signals"), dict)
        and _are_numbers(found["signals"].values())
    )


def is_event(found: Any) -> bool:
    """Whether a line of events.jsonl holds an event, with all that its kind is read for."""
    if not isinstance(found, dict) or type(found.get("step")) is not int:
        return False
    kind, details = found.get("event"), {name: v for name, v in found.items() if name != "event"}
    try:
        if kind == "finding":
            finding = Finding.from_json(details)
            return finding.severity in SEVERITIES and type(finding.taken) is int
        if kind == "action":
            return isinstance(Intervention.from_json(details).told, str)
        if kind == "change":
            return isinstance(Change(**details).name, str)
        if kind == "probe":
            texts = (details.pop("probe"), details.pop("statement"))
            return all(isinstance(text, str) for text in texts) and _are_numbers(details.values())
    except (TypeError, ValueError, KeyError, AttributeError):
        return False
    return isinstance(kind, str)


def step_problems(indices: NDArray[np.integer[Any]], last: int) -> list[str]:
    """In words: which Steps up to `last` are missing, and whether those there are in order."""
    count = len(indices)
    if rises(indices) and count and indices[0] == 1 and last <= indices[-1] == count:
        return []  # nearly always, and nothing has to be copied
    problems = []
    end = max(last, int(indices.max(initial=0))) + 1
    falls = int(np.count_nonzero(np.diff(indices) <= 0))
    known = np.concatenate([[0], indices, [end]])
    is_sorted = not falls and not (indices[:1] < 0).any()  # nearly always, and much faster
    present = known if is_sorted else np.unique(known)
    before = np.flatnonzero(np.diff(present) > 1)
    lows, highs = (present[before] + 1).tolist(), (present[before + 1] - 1).tolist()
    if lows:
        problems.append(f"{_named(list(zip(lows, highs, strict=True)))} missing from steps.jsonl")
    if falls:
        places = "1 place" if falls == 1 else f"{falls} places"
        problems.append(f"steps.jsonl: Steps are repeated or out of order in {places}")
    return problems


def rises(indices: NDArray[np.integer[Any]]) -> bool:
    """Whether each is larger than the one before."""
    return bool((indices[1:] > indices[:-1]).all())


def damage_problem(file: str, lines: int) -> str:
    """In words: lines that could not be read."""
    said = "1 line is damaged and was" if lines == 1 else f"{lines:,} lines are damaged and were"
    return f"{file}: {said} passed over"


def _named(gaps: list[tuple[int, int]]) -> str:
    names = [f"{low}" if low == high else f"{low} to {high}" for low, high in gaps[:_SHOWN]]
    if len(gaps) > _SHOWN:
        total = sum(high - low + 1 for low, high in gaps)
        return f"steps {', '.join(names)} and more ({total:,} in all) are"
    if len(gaps) == 1 and gaps[0][0] == gaps[0][1]:
        return f"step {names[0]} is"
    *first, final = names
    return f"steps {', '.join(first)} and {final} are" if first else f"steps {final} are"


def _are_numbers(values: Collection[Any]) -> bool:
    if set(map(type, values)) <= {float, int}:  # nearly always, and faster than one by one
        return True
    return all(type(value) in _NUMBERS or value in NOT_FINITE for value in values)
