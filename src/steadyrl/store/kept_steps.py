"""Columns of a long run that are kept in the cache: read once, then from the last byte on."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.coarsen import Chunked, Columns, Floats, Places, Signals, after, joined
from steadyrl.store.kept import Kept, key_of, usual
from steadyrl.store.step_columns import StepColumns
from steadyrl.store.tail import Place

LONG = 8 << 20  # bytes of a file that one would wait for
WORTH = 10_000  # Steps from which on reading them again takes longer than one would wait
HELD = 100_000  # Steps that are in memory while a long run is read
_STATE = "steps"
_SMALL = np.iinfo(np.int32)
_HEADS = "*"  # index, taken and seconds of a piece, among the names of its signals


def steps_of(file: Path) -> StepColumns:
    """A run's Steps; those of a long run are kept, so that only the first look takes its time."""
    is_long = file.is_file() and file.stat().st_size >= LONG
    return KeptSteps(file, usual()) if is_long else StepColumns(file)


class KeptSteps(StepColumns):
    """As `StepColumns`; what is long enough is kept, and is then no longer held in memory."""

    def __init__(self, path: Path, kept: Kept) -> None:
        super().__init__(path)
        self._kept, self._key = kept, key_of(path)
        self._lengths: list[int] = []  # of the pieces that are kept
        # Of each signal: the pieces that hold it, and how many values each of them has.
        self._names: dict[str, list[tuple[int, int]]] = {}
        self._recent = 0  # Steps that are held in memory
        self._take_up()

    def renew(self) -> bool:
        """Read what is new, and keep it if it is much."""
        rewound = super().renew()
        self._save_if(WORTH)
        return rewound

    def columns(self) -> Columns | None:
        """All of it; what is kept is loaded signal by signal, when it is asked for."""
        recent = super().columns()
        if not self._lengths:
            return recent
        heads = self._all_heads(recent)
        if heads is None:  # somebody deleted it
            self._tail.place = Place()
            self._forget()
            super().renew()
            return super().columns()
        signals = _Lazy(self, sum(self._lengths), recent.signals if recent else {})
        return Columns(*heads, signals)

    def _all_heads(self, recent: Columns | None) -> tuple[Places, Places, Floats] | None:
        """Index, taken and seconds of every Step, in as little memory as they need."""
        total, small = sum(self._lengths) + (len(recent) if recent else 0), True
        for head in self._each_head(recent):
            if head is None:
                return None
            small &= bool(head[:2].min() >= _SMALL.min and head[:2].max() <= _SMALL.max)
        kind = np.int32 if small else np.int64
        whole, seconds, end = np.empty((2, total), dtype=kind), np.empty(total), 0
        for head in self._each_head(recent):
            if head is None:
                return None
            begin, end = end, end + head.shape[1]
            whole[:, begin:end], seconds[begin:end] = head[:2], head[2].view(np.float64)
        return whole[0], whole[1], seconds

    def _each_head(self, recent: Columns | None) -> Iterator[NDArray[np.int64] | None]:
        for number in range(len(self._lengths)):
            yield self._head(number)
        if recent is not None:
            yield _heads(recent)

    @property
    def count(self) -> int:
        """How many Steps were read, kept or not."""
        return sum(self._lengths) + super().count

    def since(self, count: int) -> Columns:
        """The Steps after the first so many; of what is kept only the pieces that hold them."""
        begins = np.cumsum([0, *self._lengths])
        first = int(np.searchsorted(begins, count, side="right")) - 1
        pieces = [self._piece(number) for number in range(first, len(self._lengths))]
        if any(piece is None for piece in pieces):  # somebody deleted it
            return after(self.columns(), count)
        found = [piece for piece in pieces if piece is not None]
        return after(joined([*found, *self._pieces]), count - int(begins[first]))

    def _piece(self, number: int) -> Columns | None:
        """What is kept of some Steps that follow each other."""
        length, signals = self._lengths[number], {}
        head = self._head(number)
        for name, held in self._names.items():
            if number in dict(held):
                part = self._kept.get(self._key, f"{_STATE}/{number}/{name}", str(length))
                if part is None:
                    return None
                signals[name] = _unpacked(part, length)
        if head is None:
            return None
        return Columns(head[0], head[1], head[2].view(np.float64), signals)

    def kept_names(self) -> list[str]:
        """Signals of which something is kept."""
        return list(self._names)

    def kept_signal(self, name: str) -> Iterator[tuple[Places, Floats]]:
        """What is kept of a signal, by position among all Steps, piece by piece."""
        begins = np.cumsum([0, *self._lengths], dtype=np.int32)
        for number, _ in self._names.get(name, ()):
            length = self._lengths[number]
            part = self._kept.get(self._key, f"{_STATE}/{number}/{name}", str(length))
            if part is not None:
                places, values = _unpacked(part, length)
                yield places + begins[number], values

    def kept_length(self, name: str) -> int:
        """How many values of a signal are kept."""
        return sum(count for _, count in self._names.get(name, ()))

    def _forget(self) -> None:
        super()._forget()
        self._lengths, self._names, self._recent = [], {}, 0
        self._kept.forget(self._key, _STATE)

    def _head(self, number: int) -> NDArray[np.int64] | None:
        length = str(self._lengths[number])
        part = self._kept.get(self._key, f"{_STATE}/{number}/{_HEADS}", length)
        return None if part is None else np.frombuffer(part, dtype=np.int64).reshape(3, -1)

    def _take_up(self) -> None:
        """Go on where an earlier process stopped, if the file is still the one it read."""
        found = self._kept.find(self._key, _STATE)
        if found is None:
            return
        state = json.loads(found[1])
        mark = base64.b64decode(state["place"].pop("mark"))
        self._tail.place = Place(**state["place"], mark=mark)
        self._lengths, self._names = state["lengths"], state["names"]
        self._damaged = state["damaged"]

    def _add(self, piece: Columns) -> None:
        super()._add(piece)
        self._recent += len(piece)
        self._save_if(HELD)

    def _save_if(self, many: int) -> None:
        if self._recent >= many:
            self._save()

    def _save(self) -> None:
        """Move what is held in memory into the cache."""
        piece = joined(self._pieces)
        if piece is None:
            return
        number = len(self._lengths)
        names = {
            name: [*self._names.get(name, []), (number, len(places))]
            for name, (places, _) in piece.signals.items()
        }
        place = asdict(self._tail.place)
        state = {
            "place": {**place, "mark": base64.b64encode(place["mark"]).decode()},
            "lengths": [*self._lengths, len(piece)],
            "names": {**self._names, **names},
            "damaged": self._damaged,
        }
        parts = {_STATE: ("", json.dumps(state).encode())}
        parts[f"{_STATE}/{number}/{_HEADS}"] = str(len(piece)), _heads(piece).tobytes()
        for name, (places, values) in piece.signals.items():
            content = _packed(places, values, len(piece))
            parts[f"{_STATE}/{number}/{name}"] = str(len(piece)), content
        if self._kept.put(self._key, parts):
            self._lengths.append(len(piece))
            self._names.update(names)
            self._pieces, self._recent = [], 0


class _Lazy(Chunked):
    """Signals that are loaded when they are asked for, and not held."""

    def __init__(self, steps: KeptSteps, begin: int, recent: Signals) -> None:
        self._steps, self._begin, self._recent = steps, begin, recent
        self._known = list(dict.fromkeys([*steps.kept_names(), *recent]))

    def __getitem__(self, name: str) -> tuple[Places, Floats]:
        found = list(self.chunks(name))
        return np.concatenate([p for p, _ in found]), np.concatenate([v for _, v in found])

    def chunks(self, name: str) -> Iterator[tuple[Places, Floats]]:
        """What is kept, then what is in memory."""
        if name not in self._known:
            raise KeyError(name)
        yield from self._steps.kept_signal(name)
        if name in self._recent:
            places, values = self._recent[name]
            yield places + np.int32(self._begin), values

    def length(self, name: str) -> int:
        """How many values there are."""
        recent = len(self._recent[name][0]) if name in self._recent else 0
        return self._steps.kept_length(name) + recent

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


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
