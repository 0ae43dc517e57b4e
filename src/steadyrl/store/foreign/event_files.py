"""TensorBoard's event files, read fast and to the last record that is intact.

A file is a sequence of frames: length, checksum of the length, record, checksum of the record.
Records of one layout (same tags, same widths) differ only in a few bytes; the first of them is
taken apart by `event_record`, all others are read as columns of one matrix. Nothing is sampled or
thrown away. Reading goes on where it stopped, so a growing file can be followed; a damaged record
is skipped and counted, and after a damaged frame the next intact one is looked for.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign.checksums import Bytes, masked_crc32c
from steadyrl.store.foreign.event_record import Malformed, Record, parse_record
from steadyrl.store.foreign.series import Series

BLOCK = 1 << 22  # bytes looked at together
LARGEST = 1 << 20  # longer records hold images or graphs, no scalars
TEMPLATES = 256  # layouts tried on records of one length, before each is taken apart by itself
ALIKE = 64  # frames of one length after which more of them are looked for at once
HEAD, TAIL = 12, 4  # bytes of a frame around its record

Places = NDArray[np.int64]


@dataclass
class Damage:
    """What was not intact."""

    records: int = 0  # whose checksum or content is wrong
    frames: int = 0  # places where the length could not be trusted
    skipped_bytes: int = 0  # until the next intact frame
    unfinished_bytes: int = 0  # at the end: cut off, or still being written


@dataclass(frozen=True)
class _Layout:
    """Records that are alike: the bytes that must agree, and where the others lie."""

    first: Bytes
    fixed: Bytes  # 0xFF where a byte must agree, 0x80 within the step, 0 where it is free
    record: Record


class EventFile:
    """One file and how far it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = Damage()
        self._offset = self._beyond = 0  # a large record may be stepped over before it is whole
        self._layouts: dict[int, list[_Layout]] = defaultdict(list)

    def read(self) -> dict[str, Series]:
        """The scalars recorded since the last call, by tag, in the order of the file."""
        pieces: dict[str, list[Series]] = defaultdict(list)
        try:
            self._read_on(pieces)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror}.") from None
        return {tag: Series.joined(parts) for tag, parts in pieces.items()}

    @property
    def replaced(self) -> bool:
        """Whether the file has become shorter than what was read of it."""
        try:
            return self.path.stat().st_size < self._offset - self._beyond
        except OSError:
            return False

    def _read_on(self, pieces: dict[str, list[Series]]) -> None:
        with self.path.open("rb") as file:
            while True:
                file.seek(self._offset)
                block = file.read(BLOCK)
                used = self._read_block(block, pieces)
                if used == 0 and len(block) == BLOCK:
                    used = self._large(block)
                self._offset += used
                if len(block) < BLOCK:
                    self.damage.unfinished_bytes = max(0, len(block) - used)
                    self._beyond = max(0, self._offset - file.seek(0, 2))
                    break

    def _large(self, block: bytes) -> int:
        """A record too long for a block: its frame's size if the length can be trusted."""
        (length,) = struct.unpack_from("<Q", block)
        return int(length) + HEAD + TAIL

    def _read_block(self, block: bytes, pieces: dict[str, list[Series]]) -> int:
        """Read all whole frames of a block; returns how many bytes are done with."""
        data = np.frombuffer(block, dtype=np.uint8)
        start = 0
        while True:
            places, lengths, end = _walk(block, start)
            intact = _trusted(data, places, lengths)
            self._read_frames(data, places[:intact], lengths[:intact], pieces)
            if intact == len(places) and (end + HEAD > len(block) or _trusted_at(data, end)):
                return min(end, len(block))
            bad = int(places[intact]) if intact < len(places) else end
            start = _next_frame(data, bad + 1)
            self.damage.frames += 1
            self.damage.skipped_bytes += start - bad
            if start + HEAD > len(block):
                return start

    def _read_frames(
        self,
        data: Bytes,
        places: Places,
        lengths: Places,
        pieces: dict[str, list[Series]],
    ) -> None:
        """Records of one length are read together; the result is put back in order."""
        found: dict[str, list[tuple[Places, Series]]] = defaultdict(list)
        for length in np.unique(lengths).tolist():
            if length == 0 or length > LARGEST:
                continue
            numbers = np.flatnonzero(lengths == length)
            rows = _rows(data, places[numbers] + HEAD, length)
            stored = _rows(data, places[numbers] + HEAD + length, TAIL).view("<u4")[:, 0]
            intact = masked_crc32c(rows) == stored
            self.damage.records += int(np.count_nonzero(~intact))
            if not intact.all():
                rows, numbers = rows[intact], numbers[intact]
            self._read_rows(rows, numbers, found)
        for tag, parts in found.items():
            whole = Series.joined([series for _, series in parts])
            if len(parts) > 1:
                order = np.argsort(np.concatenate([number for number, _ in parts]), kind="stable")
                whole = whole.take(order)
            pieces[tag].append(whole)

    def _read_rows(
        self,
        rows: Bytes,
        numbers: Places,
        found: dict[str, list[tuple[Places, Series]]],
    ) -> None:
        layouts = self._layouts[rows.shape[1]]
        for layout in layouts:
            if not len(rows):
                return
            rows, numbers = _read_alike(layout, rows, numbers, found)
        while len(rows):
            try:
                record = parse_record(rows[0].tobytes())
            except Malformed:
                self.damage.records += 1
                rows, numbers = rows[1:], numbers[1:]
                continue
            layout = _layout(rows[0].copy(), record)
            if len(layouts) < TEMPLATES and record.numbers:
                layouts.append(layout)
                rows, numbers = _read_alike(layout, rows, numbers, found)
            else:
                _read_alike(layout, rows[:1], numbers[:1], found)
                rows, numbers = rows[1:], numbers[1:]


def _walk(block: bytes, start: int) -> tuple[Places, Places, int]:
    """Follow the lengths from frame to frame; frames' places, lengths, and where it ends."""
    places: list[int] = []
    lengths: list[int] = []
    read, size = struct.Struct("<Q").unpack_from, len(block)
    at, last, alike = start, -1, 0
    while at + HEAD <= size:
        (length,) = read(block, at)
        end = at + length + HEAD + TAIL
        if end > size:
            break
        places.append(at)
        lengths.append(length)
        at, last, alike = end, length, alike + 1 if length == last else 0
        if alike == ALIKE:  # a log of one tag: its frames are of one length for a long time
            count, frame = _run_of(block, at, length), length + HEAD + TAIL
            places.extend(range(at, at + count * frame, frame))
            lengths.extend([length] * count)
            at, alike = at + count * frame, 0
    return np.array(places, dtype=np.int64), np.array(lengths, dtype=np.int64), at


def _run_of(block: bytes, at: int, length: int) -> int:
    """How many whole frames of this length follow each other from a place on."""
    frame = length + HEAD + TAIL
    most = (len(block) - at) // frame
    if most < 1:
        return 0
    found = np.ndarray((most,), dtype="<u8", buffer=block, offset=at, strides=(frame,)) == length
    return most if found.all() else int(np.argmin(found))


def _rows(data: Bytes, places: Places, length: int) -> Bytes:
    """The `length` bytes from each place on."""
    return sliding_window_view(data, length)[places]


def _trusted(data: Bytes, places: Places, lengths: Places) -> int:
    """How many frames come before the first whose length fails its checksum."""
    if not len(places):
        return 0
    # Lengths repeat: their checksums are worked out once each.
    kinds, which = np.unique(lengths, return_inverse=True)
    wanted = masked_crc32c(kinds.astype("<u8").view(np.uint8).reshape(-1, 8))[which]
    right = _rows(data, places + 8, 4).view("<u4")[:, 0] == wanted
    return len(places) if right.all() else int(np.argmin(right))


def _trusted_at(data: Bytes, place: int) -> bool:
    """Whether a frame's head at this place is intact."""
    head = data[place : place + HEAD]
    return len(head) == HEAD and bool(masked_crc32c(head[None, :8])[0] == head[8:].view("<u4")[0])


def _next_frame(data: Bytes, start: int) -> int:
    """The next place that looks like the beginning of a frame, or as far as can be told."""
    step = 1 << 16
    for at in range(start, len(data) - HEAD + 1, step):
        heads = sliding_window_view(data[at : at + step + HEAD - 1], HEAD)
        stored = np.ascontiguousarray(heads[:, 8:]).view("<u4")[:, 0]
        right = masked_crc32c(heads[:, :8]) == stored
        if right.any():
            return at + int(np.argmax(right))
    return max(start, len(data) - HEAD + 1)


def _layout(first: Bytes, record: Record) -> _Layout:
    fixed = np.full(len(first), 0xFF, dtype=np.uint8)
    if record.wall_time_at >= 0:
        fixed[record.wall_time_at : record.wall_time_at + 8] = 0
    fixed[record.step_at : record.step_at + record.step_size] = 0x80
    for number in record.numbers:
        if number.format != "varint":
            fixed[number.at : number.at + int(number.format[2])] = 0
    return _Layout(first, fixed, record)


def _read_alike(
    layout: _Layout,
    rows: Bytes,
    numbers: Places,
    found: dict[str, list[tuple[Places, Series]]],
) -> tuple[Bytes, Places]:
    """Read the rows of this layout; returns the others."""
    different = ((rows ^ layout.first) & layout.fixed).any(axis=1)
    alike, which, record = rows, numbers, layout.record
    if different.any():
        alike, which = rows[~different], numbers[~different]
    if len(alike):
        times = np.zeros(len(alike))
        if record.wall_time_at >= 0:
            times = _column(alike, record.wall_time_at, "<f8")
        steps = _steps(alike[:, record.step_at : record.step_at + record.step_size])
        for number in record.numbers:
            if number.format == "varint":
                values = np.full(len(alike), number.value)
            else:
                values = _column(alike, number.at, number.format)
            found[number.tag].append((which, Series(steps, times, values, times)))
    return rows[different], numbers[different]


def _column(rows: Bytes, at: int, form: str) -> NDArray[np.float64]:
    width = int(form[2])
    content = np.ascontiguousarray(rows[:, at : at + width]).view(form)[:, 0]
    return content.astype(np.float64)


def _steps(rows: Bytes) -> Places:
    """Variable-length numbers of one width."""
    steps = np.zeros(len(rows), dtype=np.uint64)
    for place in range(rows.shape[1]):
        steps |= (rows[:, place].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * place)
    return steps.view(np.int64)
