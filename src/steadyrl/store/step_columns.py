"""The Steps of a run by signal, read as fast as may be, and later only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from steadyrl.core.coarsen import Columns, after, joined, piece_of
from steadyrl.store.intact import LARGEST, NOT_FINITE, is_step
from steadyrl.store.tail import Tail

_NUMBERS = {int, float}


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
        for block in self._tail.blocks():
            records, damaged = read_block(block)
            self._damaged += damaged
            if records:
                self._add(piece_of(records))
        return rewound

    def columns(self) -> Columns | None:
        """What was read; with a last line that is whole, even if its end is not written yet."""
        unended, _ = read_block(self._tail.rest)
        self._pieces = [] if not self._pieces else [_one(self._pieces)]
        return joined([*self._pieces, *([piece_of(unended)] if unended else [])])

    @property
    def count(self) -> int:
        """How many Steps were read, without a last line that has no end."""
        return sum(map(len, self._pieces))

    def since(self, count: int) -> Columns:
        """The Steps after the first so many."""
        return after(joined(self._pieces), count)

    @property
    def damaged(self) -> int:
        """How many lines were passed over."""
        return self._damaged

    def _add(self, piece: Columns) -> None:
        self._pieces.append(piece)

    def _forget(self) -> None:
        self._pieces, self._damaged = [], 0


def read_block(block: bytes) -> tuple[list[dict[str, Any]], int]:
    """The Steps in some lines, and how many lines hold none."""
    block = block.removesuffix(b"\n")
    lines = block.count(b"\n") + 1 if block else 0
    try:
        found = orjson.loads(b"[" + block.replace(b"\n", b",") + b"]")  # twice as fast as by line
        if len(found) == lines and are_steps(found):
            return found, 0
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # something is not whole
    steps = [record for line in block.split(b"\n") if is_step(record := _loaded(line))]
    return steps, lines - len(steps)


def are_steps(records: Sequence[Any]) -> bool:
    """Whether all are Steps without anything unusual; what is unusual is looked at one by one."""
    heads = [record["index"] for record in records] + [record["taken"] for record in records]
    signals = [record["signals"] for record in records]
    kinds = set(map(type, _values(signals)))
    return (
        set(map(type, heads)) <= {int}
        and max(heads, default=0) < LARGEST
        and {type(record["seconds"]) for record in records} <= _NUMBERS
        and set(map(type, signals)) <= {dict}
        and kinds <= {*_NUMBERS, str}
        and (str not in kinds or {v for v in _values(signals) if type(v) is str} <= {*NOT_FINITE})
    )


def _values(signals: Sequence[dict[str, Any]]) -> Iterator[Any]:
    return chain.from_iterable(map(dict.values, signals))


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _one(pieces: Sequence[Columns]) -> Columns:
    found = joined(pieces)
    assert found is not None
    return found
