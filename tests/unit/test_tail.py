"""Following a file of JSON lines: every record once, whatever happens to the file."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyrl.store.files import JsonLines
from steadyrl.store.tail import Tail


def _tail(path: Path) -> Tail:
    return Tail(path, lambda found: isinstance(found, dict))


def _lines(*numbers: int) -> str:
    return "".join(json.dumps({"n": number}) + "\n" for number in numbers)


def _seen(tail: Tail) -> tuple[list[int], bool]:
    records, rewound = tail.new()
    return [record["n"] for record in records], rewound


@given(cuts=st.lists(st.integers(0, 60), max_size=8))
def test_each_record_is_seen_once_however_the_file_grows(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("tail") / "x.jsonl"
    whole = _lines(*range(6)).encode()
    tail, seen = _tail(file), []
    for end in [*sorted(cuts), len(whole)]:
        file.write_bytes(whole[:end])
        numbers, rewound = _seen(tail)
        assert not rewound
        seen += numbers
    assert seen == list(range(6))


def test_a_file_that_is_not_there_yet_has_nothing_new(tmp_path: Path) -> None:
    tail = _tail(tmp_path / "x.jsonl")
    assert _seen(tail) == ([], False)
    (tmp_path / "x.jsonl").write_text(_lines(1))
    assert _seen(tail) == ([1], False)


def test_a_damaged_line_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(_lines(1) + "damaged\n[3]\n" + _lines(2))
    assert _seen(_tail(tmp_path / "x.jsonl")) == ([1, 2], False)


def test_a_file_that_was_cut_back_and_went_on_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(_lines(1, 2, 3))
    tail = _tail(file)
    tail.new()
    file.write_text(_lines(1, 7, 8, 9))  # longer than before, but not a continuation
    assert _seen(tail) == ([1, 7, 8, 9], True)
    file.write_text(_lines(1))
    assert _seen(tail) == ([1], True)
    file.unlink()
    assert _seen(tail) == ([], True)


@pytest.mark.parametrize("size", [4 << 20, 8 << 20])
def test_a_line_too_long_to_be_read_is_passed_over_in_little_memory(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steadyrl.store.tail.LONGEST", 1 << 18)
    monkeypatch.setattr("steadyrl.store.tail.BLOCK", 1 << 16)
    monkeypatch.setattr("steadyrl.store.lines.LONGEST", 1 << 18)
    file = tmp_path / "x.jsonl"
    file.write_bytes(_lines(1).encode() + b'{"n": "' + b"x" * size + b'"}\n' + _lines(2).encode())
    tracemalloc.start()
    tail = _tail(file)
    assert _seen(tail) == ([1, 2], False)
    lines = JsonLines(file)
    assert [record["n"] for record in lines] == [1, 2]
    assert lines.damaged == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20
    with file.open("a") as stream:
        stream.write(_lines(3))
    assert _seen(tail) == ([3], False)
