"""The Steps of a run by signal, read as fast as may be, and later only what is new."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from steadyrl.core.coarsen import Columns, Floats, after, by_signal, joined, piece_of
from steadyrl.store.intact import LARGEST, NOT_FINITE, is_step
from steadyrl.store.tail import Tail

_NUMBERS = {int, float}
_END, _COMMA, _LIST = ord("\n"), ord(","), b"[]"


class StepColumns:
    """All Steps of a file as columns; a look reads what was added since the one before."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path, is_step)
        self._pieces: list[Columns] = []
        self._damaged = 0

    def renew(self) -> bool:
        """Read what is new; says whether all before it had to be forgotten."""
        rewound = self._tail.rewind()
        if rewound:
            self._forget()
        with _nothing_collected():
            for block in self._tail.blocks():
                piece, damaged = read_block(block)
                self._damaged += damaged
                if len(piece):
                    self._add(piece)
        return rewound

    def columns(self) -> Columns | None:
        """What was read; with a last line that is whole, even if its end is not written yet."""
        unended, _ = read_block(self._tail.rest)
        self._pieces = [] if not self._pieces else [_one(self._pieces)]
        return joined([*self._pieces, unended])

    @property
    def count(self) -> int:
        """How many Steps were read, without a last line that has no end."""
        return sum(map(len, self._pieces))

    def since(self, count: int) -> Columns:
        """The Steps after the first so many."""
        return after(joined(self._pieces), count)

    def lines(self) -> int:
        """How many lines there are: those that were read, and those that came since."""
        return self.count + self._damaged + self._tail.ends_ahead()

    @property
    def damaged(self) -> int:
        """How many lines were passed over."""
        return self._damaged

    def _add(self, piece: Columns) -> None:
        self._pieces.append(piece)

    def _forget(self) -> None:
        self._pieces, self._damaged = [], 0


def read_block(block: bytes) -> tuple[Columns, int]:
    """The Steps in some lines, and how many lines hold none."""
    text = memoryview(block)[: len(block) - block.endswith(b"\n")]
    if not text:
        return piece_of([]), 0
    listed = bytearray(len(text) + 2)  # one list of JSON: twice as fast as line by line
    listed[0], listed[1:-1], listed[-1] = _LIST[0], text, _LIST[1]
    ends = np.flatnonzero(np.frombuffer(listed, dtype=np.uint8) == _END)
    np.frombuffer(listed, dtype=np.uint8)[ends] = _COMMA
    lines = len(ends) + 1
    try:
        found = orjson.loads(bytes(listed))
        whole = _whole(found) if len(found) == lines else None
        if whole is not None:
            return whole, 0
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # something is not whole
    each = bytes(text).split(b"\n")
    steps = [record for line in each if is_step(record := _loaded(line))]
    return piece_of(steps), lines - len(steps)


def _whole(records: Sequence[Any]) -> Columns | None:
    """Records that are all Steps, as nearly always; else None."""
    heads = [[record[name] for record in records] for name in ("index", "taken", "seconds")]
    counts = set(map(type, heads[0])) | set(map(type, heads[1]))
    if counts != {int} or max(map(max, heads[:2])) >= LARGEST:
        return None
    if not set(map(type, heads[2])) <= _NUMBERS:
        return None
    found = by_signal([record["signals"] for record in records], _as_numbers)
    if found is None:
        return None
    return Columns(
        np.array(heads[0], dtype=np.int64),
        np.array(heads[1], dtype=np.int64),
        np.array(heads[2], dtype=np.float64),
        found,
    )


def _as_numbers(values: Sequence[Any]) -> Floats | None:
    """As one array, if they are numbers, or the words that stand for those that are not finite."""
    found = np.array(values)
    if found.ndim == 1 and found.dtype.kind in "fiub":
        return found.astype(np.float64, copy=False)
    words = {value for value in values if type(value) not in _NUMBERS}
    return np.array(values, dtype=np.float64) if words <= {*NOT_FINITE} else None


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Records by the thousand set off the collector of garbage, which finds none among them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _one(pieces: Sequence[Columns]) -> Columns:
    found = joined(pieces)
    assert found is not None
    return found
