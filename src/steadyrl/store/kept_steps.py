"""Columns of a long run that are kept in the cache: read once, then from the last byte on."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from steadyrl.core.coarsen import Columns, Floats, Places, after, joined
from steadyrl.store.kept import Kept, key_of
from steadyrl.store.step_columns import StepColumns
from steadyrl.store.tail import Place

WORTH = 10_000  # Steps from which on reading them again takes longer than one would wait
HELD = 100_000  # Steps that are in memory while a long run is read
_STATE = "steps"
_HEADS = "*"  # index, taken and seconds of a piece, among the names of its signals
Signals = Mapping[str, tuple[Places, Floats]]


class KeptSteps(StepColumns):
    """As `StepColumns`; what is long enough is kept, and is then no longer held in memory."""

    def __init__(self, path: Path, kept: Kept) -> None:
        super().__init__(path)
        self._kept, self._key = kept, key_of(path)
        self._lengths: list[int] = []  # of the pieces that are kept
        self._names: dict[str, list[int]] = {}  # of each signal: the pieces that hold it
        self._take_up()

    def renew(self) -> bool:
        """Read what is new, and keep it if it is much."""
        rewound = super().renew()
        self._save_if(WORTH)
        return rewound

    def columns(self) -> Columns | None:
        """All of it; what is kept is loaded signal by signal, when it is asked for."""
        recent = super().columns()
        heads = [self._heads(number) for number in range(len(self._lengths))]
        if not heads:
            return recent
        if any(head is None for head in heads):  # somebody deleted it
            self._tail.place = Place()
            self._forget()
            super().renew()
            return super().columns()
        found = [head for head in heads if head is not None]
        whole = joined([*found, *([recent] if recent else [])])
        assert whole is not None
        signals = _Lazy(self, sum(self._lengths), recent.signals if recent else {})
        return Columns(whole.indices, whole.takens, whole.seconds, signals)

    @property
    def count(self) -> int:
        """How many Steps were read, kept or not."""
        return sum(self._lengths) + super().count

    def since(self, count: int) -> Columns:
        """The Steps after the first so many; the recent ones are in memory."""
        begin = sum(self._lengths)
        return super().since(count - begin) if count >= begin else after(self.columns(), count)

    def kept_names(self) -> list[str]:
        """Signals of which something is kept."""
        return list(self._names)

    def kept_signal(self, name: str) -> list[tuple[Places, Floats]]:
        """What is kept of a signal, by position among all Steps."""
        found: list[tuple[Places, Floats]] = []
        begins = np.cumsum([0, *self._lengths])
        for number in self._names.get(name, ()):
            length = self._lengths[number]
            part = self._kept.get(self._key, f"{_STATE}/{number}/{name}", str(length))
            if part is not None:
                places, values = _unpacked(part, length)
                found.append((places + begins[number], values))
        return found

    def _forget(self) -> None:
        super()._forget()
        self._lengths, self._names = [], {}
        self._kept.forget(self._key, _STATE)

    def _heads(self, number: int) -> Columns | None:
        length = str(self._lengths[number])
        part = self._kept.get(self._key, f"{_STATE}/{number}/{_HEADS}", length)
        if part is None:
            return None
        raw = np.frombuffer(part, dtype=np.int64).reshape(3, -1)
        return Columns(raw[0], raw[1], raw[2].view(np.float64), {})

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
        self._save_if(HELD)

    def _save_if(self, many: int) -> None:
        if sum(map(len, self._pieces)) >= many:
            self._save()

    def _save(self) -> None:
        """Move what is held in memory into the cache."""
        piece = joined(self._pieces)
        if piece is None:
            return
        number = len(self._lengths)
        names = {name: [*self._names.get(name, []), number] for name in piece.signals}
        place = asdict(self._tail.place)
        state = {
            "place": {**place, "mark": base64.b64encode(place["mark"]).decode()},
            "lengths": [*self._lengths, len(piece)],
            "names": {**self._names, **names},
            "damaged": self._damaged,
        }
        heads = np.stack([piece.indices, piece.takens, piece.seconds.view(np.int64)])
        parts = {_STATE: ("", json.dumps(state).encode())}
        parts[f"{_STATE}/{number}/{_HEADS}"] = str(len(piece)), heads.tobytes()
        for name, (places, values) in piece.signals.items():
            content = _packed(places, values, len(piece))
            parts[f"{_STATE}/{number}/{name}"] = str(len(piece)), content
        if self._kept.put(self._key, parts):
            self._lengths.append(len(piece))
            self._names.update(names)
            self._pieces = []


class _Lazy(Mapping[str, tuple[Places, Floats]]):
    """Signals that are loaded when they are asked for, and not held."""

    def __init__(self, steps: KeptSteps, begin: int, recent: Signals) -> None:
        self._steps, self._begin, self._recent = steps, begin, recent
        self._known = list(dict.fromkeys([*steps.kept_names(), *recent]))

    def __getitem__(self, name: str) -> tuple[Places, Floats]:
        if name not in self._known:
            raise KeyError(name)
        found = self._steps.kept_signal(name)
        if name in self._recent:
            places, values = self._recent[name]
            found.append((places + np.int32(self._begin), values))
        return np.concatenate([p for p, _ in found]), np.concatenate([v for _, v in found])

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


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
