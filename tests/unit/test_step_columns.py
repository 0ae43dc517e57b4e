"""Many lines are read at once, and what is read is what each line says by itself."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.coarsen import Columns, piece_of
from steadyrl.store import step_columns
from steadyrl.store.intact import is_step
from steadyrl.store.step_columns import StepColumns, read_block


def line(number: int, **signals: Any) -> str:
    found = {"critic.loss": number / 7, "q.mean": 0.5 * number, **signals}
    return json.dumps({"index": number, "taken": 9 * number, "seconds": 1.5, "signals": found})


def plainly(columns: Columns) -> Any:
    signals = {n: (p.tolist(), v.tolist()) for n, (p, v) in columns.signals.items()}
    heads = columns.indices.tolist(), columns.takens.tolist(), columns.seconds.tolist()
    return repr((heads, sorted(signals.items())))


TURNED = json.loads(line(2))
TURNED["signals"] = dict(reversed(TURNED["signals"].items()))
ODD_LINES = {
    "nothing odd": line(2),
    "a word for no number": line(2, **{"q.mean": "-inf"}),
    "a whole number": line(2, **{"q.mean": 4}),
    "yes": line(2, **{"q.mean": True}),
    "signals in another order": json.dumps(TURNED),
    "one signal more": line(2, **{"q.std": 1.0}),
    "a number as text": line(2, **{"q.mean": "4.0"}),
    "nothing": line(2, **{"q.mean": None}),
    "a list": line(2, **{"q.mean": [1.0]}),
    "two Steps in a line": f"{line(2)},{line(2)}",
    "half a line": line(2)[:20],
    "no Step": "[1]",
    "an index that is none": line(2).replace('"index": 2', '"index": true'),
    "an index beyond all": line(2).replace('"index": 2', f'"index": {2**63}'),
    "seconds that are none": line(2).replace("1.5", '"nan"'),
    "no signals": json.dumps({**json.loads(line(2)), "signals": {}}),
    "an empty line": "",
}


@pytest.mark.parametrize("odd", ODD_LINES)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_block_holds_what_its_lines_hold_one_by_one(odd: str, end: str) -> None:
    lines = [line(1), ODD_LINES[odd], line(3)]
    steps = []
    for text in lines:
        try:
            found = json.loads(text)
        except ValueError:
            continue
        steps += [found] if is_step(found) else []
    columns, damaged = read_block(("\n".join(lines) + end).encode())
    assert plainly(columns) == plainly(piece_of(steps))
    assert damaged == len(lines) - len(steps)


def test_a_block_of_nothing_holds_nothing() -> None:
    columns, damaged = read_block(b"")
    assert (len(columns), damaged) == (0, 0)


def test_a_list_is_no_value_even_where_all_are_lists() -> None:
    line = b'{"index": 1, "taken": 1, "seconds": 0.1, "signals": {"a": [1.0], "b": [2.0]}}\n'
    columns, damaged = read_block(line)
    assert (len(columns), damaged) == (0, 1)


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_of_garbage_is_left_as_it_was_even_by_a_reading_that_fails(
    collects: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_text('{"index": 1, "taken": 1, "seconds": 0.1, "signals": {}}\n', encoding="utf-8")
    seen = []

    def fail(_: bytes) -> Any:
        seen.append(gc.isenabled())
        raise MemoryError

    monkeypatch.setattr(step_columns, "read_block", fail)
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        with pytest.raises(MemoryError):
            StepColumns(path).renew()
        after = gc.isenabled()
    finally:
        (gc.enable if was else gc.disable)()
    assert seen == [False]
    assert after == collects
