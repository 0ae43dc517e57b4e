"""Tables that programs write while they train: what is read, left out, and said about it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign.tables import (
    Table,
    number,
    read_csv,
    read_json_lines,
    read_monitor,
    read_trainer_state,
    to_series,
)


def csv(folder: Path, text: str) -> Table:
    (folder / "t.csv").write_text(text)
    return read_csv(folder / "t.csv")


def lines(folder: Path, *records: Any) -> Table:
    texts = [r if isinstance(r, str) else json.dumps(r) for r in records]
    (folder / "t.jsonl").write_text("\n".join(texts))
    return read_json_lines(folder / "t.jsonl")


def test_a_csv_is_rows_of_the_numbers_in_it(tmp_path: Path) -> None:
    table = csv(tmp_path, "# comment\na,b,c\n1,,x\n\n2,3.5,True\n")
    assert table.rows == [{"a": 1.0}, {"a": 2.0, "b": 3.5, "c": 1.0}]
    assert table.names() == {"a", "b", "c"}
    assert table.problems == []


def test_lines_without_any_number_are_counted(tmp_path: Path) -> None:
    table = csv(tmp_path, "a,b\nx,y\n1,y\n,\nz,\n")
    assert table.rows == [{"a": 1.0}]
    assert table.problems == ["t.csv: 2 lines hold no number."]


def test_a_last_line_without_an_end_is_left_out_unless_it_is_the_only_one(tmp_path: Path) -> None:
    table = csv(tmp_path, "a\n1\n2")
    assert (table.rows, len(table.problems)) == ([{"a": 1.0}], 1)
    assert "not finished" in table.problems[0]
    assert csv(tmp_path, "a").problems == []


def test_cells_beyond_the_names_are_ignored(tmp_path: Path) -> None:
    assert csv(tmp_path, "a,b\n1,2,3\n").rows == [{"a": 1.0, "b": 2.0}]


def test_a_csv_that_cannot_be_read_on_keeps_what_was_read(tmp_path: Path) -> None:
    table = csv(tmp_path, "a\n1\n" + "9" * 200_000 + "\n")
    assert table.rows == [{"a": 1.0}]
    assert "reading stopped" in table.problems[0]


def test_lines_of_json_are_flattened_and_what_is_no_object_is_counted(tmp_path: Path) -> None:
    table = lines(
        tmp_path,
        {"a": {"b": 1, "c": {"d": True}}, "text": "x", "list": [1]},
        "",
        "[1, 2]",
        '{"torn": 1',
        {"only": "text"},
    )
    assert table.rows == [{"a/b": 1.0, "a/c/d": 1.0}]
    assert table.problems == ["t.jsonl: 2 lines are not whole JSON objects."]
    assert lines(tmp_path, {"a": 1}).problems == []


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '"NaN"', '"-Infinity"'])
def test_what_python_writes_for_no_number_is_understood(tmp_path: Path, text: str) -> None:
    (row,) = lines(tmp_path, f'{{"a": {text}, "b": "nano"}}').rows
    assert row.keys() == {"a"}
    assert str(row["a"]) == str(float(text.strip('"')))


@pytest.mark.parametrize(("depth", "kept"), [(12, True), (13, False)])
def test_records_are_flattened_so_far_and_no_further(
    tmp_path: Path, depth: int, kept: bool
) -> None:
    record: Any = {"x": 1}
    for _ in range(depth):
        record = {"a": record}
    assert bool(lines(tmp_path, {**record, "y": 2}).rows[0].get("a/" * depth + "x")) is kept


def test_a_trainers_state_is_its_history(tmp_path: Path) -> None:
    file = tmp_path / "trainer_state.json"
    history = [{"step": 1, "loss": 0.5}, "noise", {"text": "x"}, {"step": 2}]
    file.write_text(json.dumps({"log_history": history}))
    assert read_trainer_state(file).rows == [{"step": 1.0, "loss": 0.5}, {"step": 2.0}]
    for other in ("[]", '{"log_history": 3}', "torn"):
        file.write_text(other)
        table = read_trainer_state(file)
        assert (table.rows, len(table.problems)) == ([], 1)


def test_a_monitor_counts_the_steps_of_whole_episodes(tmp_path: Path) -> None:
    text = "r,l,t\n1,10,5\n2,0,6\n3,-1,7\n,9,8\n4,,9\n5,20,\n"
    (tmp_path / "monitor.csv").write_text(text)
    assert read_monitor(tmp_path / "monitor.csv").rows == [
        {"r": 1.0, "l": 10.0, "t": 5.0, "steps": 10.0},
        {"r": 2.0, "l": 0.0, "t": 6.0, "steps": 10.0},
        {"r": 5.0, "l": 20.0, "t": 0.0, "steps": 30.0},
    ]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"gone\.csv: cannot be read"):
        read_csv(tmp_path / "gone.csv")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        *(("1.5", 1.5), ("true", 1.0), ("True", 1.0), ("false", 0.0), (True, 1.0), (False, 0.0)),
        *(("x", None), (None, None), ("", None), (10**400, None)),
    ],
)
def test_a_cell_is_a_number_or_nothing(cell: Any, value: float | None) -> None:
    assert number(cell) == value


def columns(rows: list[dict[str, float]]) -> dict[str, list[tuple[int, float, float, float]]]:
    found = to_series(rows, ("steps", "updates"), ("seconds",))
    return {
        name: list(
            zip(*(c.tolist() for c in (s.steps, s.times, s.values, s.order)), strict=True)
        )
        for name, s in found.items()
    }  # fmt: skip


def test_columns_lie_over_the_best_count_of_steps(tmp_path: Path) -> None:
    rows = [
        {"steps": 10.0, "updates": 1.0, "seconds": 0.5, "a": 7.0},
        {"a": 8.0},  # belongs to the row before
        {"updates": 30.0, "seconds": 2.0, "a": 9.0},
        {"steps": math.nan, "a": 6.0},
    ]
    found = columns(rows)
    assert found["a"] == [
        (10, 0.5, 7.0, 0),
        (10, 0.5, 8.0, 1),
        (30, 2.0, 9.0, 2),
        (30, 2.0, 6.0, 3),
    ]
    assert found.keys() == {"a", "seconds"}


def test_without_a_count_of_steps_rows_are_counted() -> None:
    assert columns([{"a": 5.0}, {"a": 6.0}])["a"] == [(1, 0.0, 5.0, 0), (2, 0.0, 6.0, 1)]


@pytest.mark.parametrize(("value", "step"), [(1e300, 2**62), (-1e300, -(2**62)), (7.9, 7)])
def test_steps_are_whole_and_within_bounds(value: float, step: int) -> None:
    assert columns([{"steps": value, "a": 1.0}])["a"][0][0] == step
