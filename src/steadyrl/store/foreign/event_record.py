"""One record of an event file, taken apart by hand: protobuf's wire format, no generated classes.

Only what a scalar needs is understood: wall time, step, tags and their numbers, where each of
them lies in the record (so that records of the same layout can be read all at once).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
# TensorProto: dtype -> its content's format for numpy and struct, field that may hold it instead
_DTYPES = {1: ("<f4", "f", 5), 2: ("<f8", "d", 6), 3: ("<i4", "i", 7), 9: ("<i8", "q", 10)}


class Malformed(Exception):
    """The bytes are no record of the kind that is read here."""


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar in a record: its tag, and where and how it lies there."""

    tag: str
    at: int
    format: str  # of numpy: "<f4", "<f8", "<i4", "<i8"; "varint" for a number of varying width
    value: float


@dataclass(frozen=True, slots=True)
class Record:
    """What one event says."""

    wall_time: float
    wall_time_at: int  # -1 if it is not given
    step: int
    step_at: int
    step_size: int  # bytes; 0 if the step is not given and therefore 0
    numbers: tuple[Number, ...]


def parse_record(data: bytes) -> Record:
    """Take one record apart; raises Malformed."""
    wall_time, wall_time_at, step, step_at, step_size = 0.0, -1, 0, 0, 0
    numbers: list[Number] = []
    try:
        for field, kind, start, end in _fields(data, 0, len(data)):
            if field == 1 and kind == _FIXED64:
                (wall_time,), wall_time_at = struct.unpack_from("<d", data, start), start
            elif field == 2 and kind == _VARINT:
                step, step_at, step_size = _signed(_varint(data, start)[0]), start, end - start
            elif field == 5 and kind == _LENGTH:
                numbers += _summary(data, start, end)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from None
    return Record(wall_time, wall_time_at, step, step_at, step_size, tuple(numbers))


def _summary(data: bytes, start: int, end: int) -> Iterator[Number]:
    for field, kind, first, last in _fields(data, start, end):
        if field == 1 and kind == _LENGTH:
            number = _value(data, first, last)
            if number is not None:
                yield number


def _value(data: bytes, start: int, end: int) -> Number | None:
    """A Summary.Value, if it is a scalar."""
    tag = ""
    found: tuple[int, str, float] | None = None
    for field, kind, first, last in _fields(data, start, end):
        if field == 1 and kind == _LENGTH:
            tag = data[first:last].decode("utf-8")
        elif field == 2 and kind == _FIXED32:
            found = first, "<f4", struct.unpack_from("<f", data, first)[0]
        elif field == 8 and kind == _LENGTH:
            found = _tensor(data, first, last)
    return Number(tag, *found) if found is not None else None


def _tensor(data: bytes, start: int, end: int) -> tuple[int, str, float] | None:
    """A tensor of one element: place, format, value."""
    places = {field: (first, last) for field, _, first, last in _fields(data, start, end)}
    dtype = _varint(data, places[1][0])[0] if 1 in places else 0
    if dtype not in _DTYPES or (2 in places and _elements(data, *places[2]) != 1):
        return None
    code, letter, field = _DTYPES[dtype]
    first, last = places.get(4) or places.get(field) or (0, 0)
    if 4 not in places and field in places and letter in "iq":
        return first, "varint", float(_signed(_varint(data, first)[0]))
    if last - first != int(code[2]):
        return None
    return first, code, float(struct.unpack_from("<" + letter, data, first)[0])


def _elements(data: bytes, start: int, end: int) -> int:
    """How many elements a TensorShapeProto describes."""
    count = 1
    for field, kind, first, last in _fields(data, start, end):
        if field == 2 and kind == _LENGTH:
            size = 0
            for inner, wire, at, _ in _fields(data, first, last):
                if inner == 1 and wire == _VARINT:
                    size = _varint(data, at)[0]
            count *= size
    return count


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Field number, wire type, and where its content begins and ends."""
    at = start
    while at < end:
        key, at = _varint(data, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            _, stop = _varint(data, at)
        elif kind == _FIXED64:
            stop = at + 8
        elif kind == _FIXED32:
            stop = at + 4
        elif kind == _LENGTH:
            size, at = _varint(data, at)
            stop = at + size
        else:
            raise Malformed(f"wire type {kind}")
        if stop > end or field == 0:
            raise Malformed("a field reaches beyond its record")
        yield field, kind, at, stop
        at = stop


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and where it ends."""
    value = 0
    for place in range(10):
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + place + 1
    raise Malformed("a number of more than ten bytes")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
