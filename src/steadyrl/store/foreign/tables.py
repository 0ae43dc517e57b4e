"""Logs that are tables: CSV, lines of JSON, a trainer's state. Each becomes series by name.

Programs write these while they train and are killed while they write, so a torn last line, cells
that are no numbers and lines that are no JSON are left out and counted, never fatal.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from steadyrl.core.errors import StoreError
from steadyrl.core.ordinary import read_ordinary
from steadyrl.store.foreign.series import Series

Row = Mapping[str, float]
_DEEPEST = 12  # nested records of RLlib are flattened so far


@dataclass
class Table:
    """Rows of numbers, and what was wrong with the rest."""

    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def names(self) -> set[str]:
        """All names that occur."""
        return {name for row in self.rows for name in row}


def read_csv(path: Path) -> Table:
    """A CSV file with a line of names; lines beginning with # are comments."""
    table, bad, text = Table(), 0, _text(path)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # it may be half a number
        table.problems.append(f"{path.name}: the last line is not finished and was left out.")
    try:
        between = "\t" if lines and "\t" in lines[0] and "," not in lines[0] else ","
        for cells in csv.DictReader(lines, restkey="", delimiter=between):
            row = {name: number(cell) for name, cell in cells.items() if name and cell}
            found = {name: value for name, value in row.items() if value is not None}
            bad += sum(value is None for value in row.values()) and not found
            if found:
                table.rows.append(found)
    except csv.Error as error:
        table.problems.append(f"{path.name}: reading stopped: {error}.")
    if bad:
        table.problems.append(f"{path.name}: {bad} lines hold no number.")
    return table


def read_json_lines(path: Path) -> Table:
    """One JSON object per line; nested objects are flattened to a/b/c."""
    table, bad = Table(), 0
    for line in _text(path).splitlines():
        if not line.strip():
            continue
        record = _json(line)
        if not isinstance(record, dict):
            bad += 1
            continue
        row = dict(_flat(record))
        if row:
            table.rows.append(row)
    if bad:
        table.problems.append(f"{path.name}: {bad} lines are not whole JSON objects.")
    return table


def read_trainer_state(path: Path) -> Table:
    """`log_history` of transformers' trainer_state.json."""
    state = _json(_text(path))
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        return Table(problems=[f"{path.name}: not a trainer's state (no list 'log_history')."])
    rows = [dict(_flat(record)) for record in history if isinstance(record, dict)]
    return Table([row for row in rows if row])


def read_monitor(path: Path) -> Table:
    """Stable-Baselines3's Monitor: return r, length l, time t of each episode."""
    table = read_csv(path)
    total = 0.0
    rows: list[Row] = []
    for row in table.rows:
        if "r" in row and row.get("l", math.nan) >= 0:
            total += row["l"]
            rows.append({"r": row["r"], "l": row["l"], "t": row.get("t", 0.0), "steps": total})
    return Table(rows, table.problems)


def to_series(
    rows: Sequence[Row], steps: Iterable[str], seconds: Iterable[str]
) -> dict[str, Series]:
    """Columns over the first of `steps` that a row has; without any, over the row's number."""
    columns: dict[str, list[tuple[int, float, float, int]]] = {}
    step_names, second_names = tuple(steps), tuple(seconds)
    counted = any(name in row for row in rows for name in step_names)
    last, time = 0, 0.0
    for position, row in enumerate(rows):
        if counted:  # a row without it (of evaluations only) belongs to the one before
            step = next((row[name] for name in step_names if name in row), math.nan)
            last = _whole(step) if math.isfinite(step) else last
        else:
            last = position + 1
        time = next((row[name] for name in second_names if name in row), time)
        for name, value in row.items():
            if name not in step_names:
                columns.setdefault(name, []).append((last, time, value, position))
    return {name: _series(moments) for name, moments in columns.items()}


def _series(moments: list[tuple[int, float, float, int]]) -> Series:
    steps, times, values, order = zip(*moments, strict=True)
    return Series(
        np.array(steps, dtype=np.int64),
        np.array(times, dtype=np.float64),
        np.array(values, dtype=np.float64),
        np.array(order, dtype=np.float64),
    )


def number(text: Any) -> float | None:
    """A cell as a number, or None; "True" and "False" are 1 and 0."""
    if isinstance(text, bool) or text in ("True", "False", "true", "false"):
        return float(str(text).lower() == "true")
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return None


def _whole(value: float) -> int:
    return int(max(-(2.0**62), min(2.0**62, value)))


def _flat(
    record: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, float]]:
    for name, value in record.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from _flat(value, f"{prefix}{name}/", depth + 1)
        elif isinstance(value, int | float) or value in ("NaN", "nan", "Infinity", "-Infinity"):
            found = number(value)
            if found is not None:
                yield f"{prefix}{name}", found


def _json(text: str) -> Any:
    """Strict JSON fast; the NaN and Infinity that Python writes are understood too."""
    for load in (orjson.loads, json.loads):
        with suppress(ValueError, RecursionError):
            return load(text)
    return None


def _text(path: Path) -> str:
    """The file's content; bytes that are no text become question marks."""
    try:
        content = read_ordinary(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}.") from None
    text = content.decode("utf-8-sig", errors="replace").replace("\0", "")
    return io.StringIO(text, newline=None).read()


EVALUATIONS = "evaluations.npz"  # of the SB3 zoo and EvalCallback
_TABLES = {
    "result.json": read_json_lines,
    "progress.csv": read_csv,
    "progress.json": read_json_lines,
    "progress.txt": read_csv,
    "trainer_state.json": read_trainer_state,
}
_BY_SUFFIX = {".csv": read_csv, ".json": read_json_lines, ".jsonl": read_json_lines}


def is_table(file: Path, path: Path) -> bool:
    """Whether a file of a log is one of rows, not of episodes or events."""
    episodes = file.name.endswith("monitor.csv") or file.name == EVALUATIONS
    return file.name in _TABLES or (file == path and not episodes)


def read_table(file: Path) -> Table:
    """Its rows, by what it is called."""
    read = _TABLES.get(file.name) or _BY_SUFFIX.get(file.suffix)
    if read is None:
        raise StoreError(f"{file}: neither .csv, .json nor .jsonl. Which log is it?")
    return read(file)
