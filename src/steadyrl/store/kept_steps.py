"""Columns of a long run that are kept in the cache: read once, then from the last byte on."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.coarsen import Chunked, Columns, Floats, Places, Signals, after, joined, piece_of
from steadyrl.store.kept import Kept, key_of, usual
from steadyrl.store.step_columns import StepColumns
from steadyrl.store.tail import Place

LONG = 8 << 20  # bytes of a file that one would wait for
WORTH = 10_000  # Steps from which on reading them again takes longer than one would wait
HELD = 100_000  # Steps that are in memory while a long run is read
_STATE = "steps"
_SMALL = np.iinfo(np.int32)
_NOTHING = np.empty(0, dtype=np.int32), np.empty(0)
_HEADS = "*"  # index, taken and seconds of a piece, among the names of its signals


def steps_of(file: Path) -> StepColumns:
    """A run's Steps; those of a long run are kept, so that only the first look takes its time."""
    is_long = file.is_file() and file.stat().st_size >= LONG
    return KeptSteps(file, usual()) if is_long else StepColumns(file)


class KeptSteps(StepColumns):
    """As `StepColumns`; what is long enough is kept, and is then no longer held in memory.

    Others may read the same run, empty the cache or keep it busy: what is no longer there is read
    from the file again, and from then on this one keeps nothing.
    """

    def __init__(self, path: Path, kept: Kept) -> None:
        super().__init__(path)
        self._kept, self._key = kept, key_of(path)
        self._file = _File(path)
        self._away: list[_Piece] = []  # that are kept
        self._recent = 0  # Steps since the last try to keep them
        self._keeps = True
        self._take_up()

    def renew(self) -> bool:
        """Read what is new, and keep it if it is much."""
        if self._file.was_read:
            self._keeps = False
            self._tail.place = Place()
            super()._forget()
            self._away, self._file = [], _File(self._tail.path)
        rewound = super().renew()
        self._save_if(WORTH)
        return rewound

    def columns(self) -> Columns | None:
        """All of it; what is kept is loaded signal by signal, when it is asked for."""
        recent = super().columns()
        if not self._away:
            return recent
        heads = [piece.heads() for piece in self._away]
        heads += [] if recent is None else [_heads(recent)]
        begin = sum(piece.length for piece in self._away)
        signals = _Lazy(tuple(self._away), begin, recent.signals if recent else {})
        return Columns(*_together(heads), signals)

    @property
    def count(self) -> int:
        """How many Steps were read, kept or not."""
        return sum(piece.length for piece in self._away) + super().count

    def since(self, count: int) -> Columns:
        """The Steps after the first so many; of what is kept only the pieces that hold them."""
        needed = [piece for piece in self._away if piece.begin + piece.length > count]
        begin = needed[0].begin if needed else sum(piece.length for piece in self._away)
        found = [piece.columns() for piece in needed]
        return after(joined([*found, *self._pieces]), max(0, count - begin))

    def _forget(self) -> None:
        super()._forget()
        self._away, self._recent = [], 0
        self._kept.forget(self._key, _STATE)

    def _take_up(self) -> None:
        """Go on where an earlier process stopped, if the file is still the one it read."""
        found = self._kept.find(self._key, _STATE)
        if found is None:
            return
        state = json.loads(found[1])
        mark = base64.b64decode(state["place"].pop("mark"))
        self._tail.place = Place(**state["place"], mark=mark)
        for name, length, counts in state["pieces"]:
            self._away.append(self._piece(name, length, counts))
        self._damaged = state["damaged"]

    def _piece(self, name: str, length: int, counts: Mapping[str, int]) -> _Piece:
        begin = sum(piece.length for piece in self._away)
        return _Piece(self._kept, self._key, name, begin, length, counts, self._file)

    def _add(self, piece: Columns) -> None:
        super()._add(piece)
        self._recent += len(piece)
        self._save_if(HELD)

    def _save_if(self, many: int) -> None:
        if self._keeps and self._recent >= many:
            self._save()
            self._recent = 0  # what could not be kept now is not tried again at once

    def _save(self) -> None:
        """Move what is held in memory into the cache."""
        content = joined(self._pieces)
        if content is None:
            return
        counts = {name: len(places) for name, (places, _) in content.signals.items()}
        # A name of its own: another process may be keeping the same Steps, cut elsewhere.
        piece = self._piece(secrets.token_hex(8), len(content), counts)
        place = asdict(self._tail.place)
        state = {
            "place": {**place, "mark": base64.b64encode(place["mark"]).decode()},
            "pieces": [(one.name, one.length, one.counts) for one in (*self._away, piece)],
            "damaged": self._damaged,
        }
        parts = {_STATE: ("", json.dumps(state).encode()), **piece.parts(content)}
        if self._kept.put(self._key, parts):
            self._away.append(piece)
            self._pieces = []


class _File:
    """The Steps as they stand in the file, read if somebody needs them."""

    def __init__(self, path: Path) -> None:
        self._path, self.was_read = path, False

    @cached_property
    def columns(self) -> Columns:
        """All of them."""
        self.was_read = True
        steps = StepColumns(self._path)
        steps.renew()
        return steps.columns() or piece_of([])


@dataclass(frozen=True)
class _Piece:
    """Some Steps that follow each other, in the cache."""

    kept: Kept
    run: str
    name: str
    begin: int  # among all Steps
    length: int
    counts: Mapping[str, int]  # how many values each signal has
    file: _File  # if they are not there any more

    def heads(self) -> NDArray[np.int64]:
        """Index, taken and seconds."""
        part = self._part(_HEADS)
        if part is None:
            return _heads(self.file.columns)[:, self.begin : self.begin + self.length]
        return np.frombuffer(part, dtype=np.int64).reshape(3, -1)

    def signal(self, name: str) -> tuple[Places, Floats]:
        """Where among these Steps it was measured, and what."""
        part = self._part(name)
        if part is not None:
            return _unpacked(part, self.length)
        places, values = self.file.columns.signals.get(name, _NOTHING)
        first, end = np.searchsorted(places, (self.begin, self.begin + self.length))
        return places[first:end] - np.int32(self.begin), values[first:end]

    def columns(self) -> Columns:
        """All of it."""
        indices, takens, seconds = self.heads()
        signals = {name: self.signal(name) for name in self.counts}
        return Columns(indices, takens, seconds.view(np.float64), signals)

    def parts(self, content: Columns) -> dict[str, tuple[str, bytes]]:
        """What is to be kept of it, as the cache takes it."""
        packed = {_HEADS: _heads(content).tobytes()}
        for name, (places, values) in content.signals.items():
            packed[name] = _packed(places, values, self.length)
        return {f"{_STATE}/{self.name}/{name}": ("", part) for name, part in packed.items()}

    def _part(self, name: str) -> bytes | None:
        return self.kept.get(self.run, f"{_STATE}/{self.name}/{name}", "")


class _Lazy(Chunked):
    """Signals that are loaded when they are asked for, and not held."""

    def __init__(self, pieces: Sequence[_Piece], begin: int, recent: Signals) -> None:
        self._pieces, self._begin, self._recent = pieces, begin, recent
        names = [name for piece in pieces for name in piece.counts]
        self._known = list(dict.fromkeys([*names, *recent]))

    def __getitem__(self, name: str) -> tuple[Places, Floats]:
        found = list(self.chunks(name))
        return np.concatenate([p for p, _ in found]), np.concatenate([v for _, v in found])

    def chunks(self, name: str) -> Iterator[tuple[Places, Floats]]:
        """What is kept, then what is in memory."""
        if name not in self._known:
            raise KeyError(name)
        for piece in self._pieces:
            if name in piece.counts:
                places, values = piece.signal(name)
                yield places + np.int32(piece.begin), values
        if name in self._recent:
            places, values = self._recent[name]
            yield places + np.int32(self._begin), values

    def length(self, name: str) -> int:
        """How many values there are."""
        recent = len(self._recent[name][0]) if name in self._recent else 0
        return sum(piece.counts.get(name, 0) for piece in self._pieces) + recent

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _together(heads: Sequence[NDArray[np.int64]]) -> tuple[Places, Places, Floats]:
    """Index, taken and seconds of every Step, in as little memory as they need."""
    small = all(
        head[:2].min(initial=0) >= _SMALL.min and head[:2].max(initial=0) <= _SMALL.max
        for head in heads
    )
    whole = np.concatenate([head[:2].astype(np.int32 if small else np.int64) for head in heads], 1)
    return whole[0], whole[1], np.concatenate([head[2].view(np.float64) for head in heads])


def _heads(piece: Columns) -> NDArray[np.int64]:
    """Index, taken and seconds as one array: the bits of the seconds stand for themselves."""
    return np.stack([piece.indices, piece.takens, piece.seconds.view(np.int64)]).astype(np.int64)


def _packed(places: Places, values: Floats, length: int) -> bytes:
    """A signal of a piece; with its positions if it lacks in some Steps."""
    if len(places) == length:
        return b"all " + values.tobytes()
    return b"some" + places.astype(np.int32).tobytes() + values.tobytes()


def _unpacked(content: bytes, length: int) -> tuple[Places, Floats]:
    if content.startswith(b"all "):
        return np.arange(length, dtype=np.int32), np.frombuffer(content, dtype=np.float64, offset=4)
    count = len(content) // 12
    values = np.frombuffer(content, dtype=np.float64, offset=4 + 4 * count)
    return np.frombuffer(content, dtype=np.int32, count=count, offset=4), values
