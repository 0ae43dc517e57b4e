"""Records of event files, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign import event_files
from steadyrl.store.foreign.event_files import EventFile
from steadyrl.store.foreign.event_folder import EventFolder
from steadyrl.store.foreign.event_record import Malformed, Number, Record, parse_record
from tests.unit.test_event_files import EVENTS, file_of, frame, scalar
from tests.unit.test_event_files import read as values


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    rest = b""
    while value > 0x7F:
        rest += bytes([value & 0x7F | 0x80])
        value >>= 7
    return rest + bytes([value])


def field(number: int, kind: int, content: bytes) -> bytes:
    length = varint(len(content)) if kind == 2 else b""
    return varint(number << 3 | kind) + length + content


def value(*fields: bytes, tag: bytes = b"t") -> bytes:
    """An event with one summary value of these fields."""
    return field(5, 2, field(1, 2, field(1, 2, tag) + b"".join(fields)))


def tensor(dtype: int, *fields: bytes) -> bytes:
    return value(field(8, 2, field(1, 0, varint(dtype)) + b"".join(fields)))


def numbers(data: bytes) -> list[float]:
    return [number.value for number in parse_record(data).numbers]


def test_a_record_says_what_it_holds_and_where() -> None:
    data = field(1, 1, struct.pack("<d", 2.5)) + field(2, 0, varint(300))
    data += value(field(2, 5, struct.pack("<f", 0.5)))
    at = len(data) - 4
    assert parse_record(data) == Record(2.5, 1, 300, 10, 2, (Number("t", at, "<f4", 0.5),))
    assert data[10:12] == varint(300)
    assert parse_record(b"") == Record(0.0, -1, 0, 0, 0, ())


@pytest.mark.parametrize("step", [0, 1, 127, 128, 2**40, 2**63 - 1, -1, -(2**63)])
def test_steps_are_signed(step: int) -> None:
    assert parse_record(field(2, 0, varint(step))).step == step


def test_what_is_not_asked_for_is_stepped_over() -> None:
    unknown = field(9, 1, b"x" * 8) + field(10, 5, b"yyyy") + field(11, 2, b"zz" * 100)
    unknown += field(12, 0, varint(2**50))
    assert parse_record(unknown + field(2, 0, varint(7)) + unknown).step == 7
    # The fields of a scalar, but of other kinds.
    assert parse_record(field(1, 0, varint(5)) + field(2, 5, b"abcd")) == parse_record(b"")
    assert parse_record(field(3, 1, b"x" * 8)) == parse_record(b"")
    assert numbers(value(field(2, 0, varint(5)))) == []
    assert numbers(value(field(3, 5, b"abcd"))) == []
    assert numbers(value(field(9, 2, field(1, 0, varint(1)) + field(5, 2, b"abcd")))) == []
    assert numbers(field(5, 2, field(1, 0, varint(5)) + field(2, 2, b"abc"))) == []
    assert numbers(field(5, 0, varint(5))) == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (tensor(1, field(4, 2, struct.pack("<f", 1.5))), [1.5]),
        (tensor(2, field(4, 2, struct.pack("<d", 1.5))), [1.5]),
        (tensor(3, field(4, 2, struct.pack("<i", -2))), [-2.0]),
        (tensor(9, field(4, 2, struct.pack("<q", -3))), [-3.0]),
        (tensor(1, field(5, 2, struct.pack("<f", 1.5))), [1.5]),
        (tensor(2, field(6, 2, struct.pack("<d", 1.5))), [1.5]),
        (tensor(3, field(7, 0, varint(-4))), [-4.0]),
        (tensor(9, field(10, 0, varint(-5))), [-5.0]),
        (tensor(9, field(10, 0, varint(300))), [300.0]),
        (tensor(1, field(4, 2, struct.pack("<ff", 1.0, 2.0))), []),  # two numbers
        (tensor(1, field(4, 2, b"ab")), []),
        (tensor(1, field(6, 2, struct.pack("<d", 1.5))), []),  # another kind's field
        (tensor(5, field(4, 2, struct.pack("<f", 1.5))), []),  # an unknown kind
        (tensor(1), []),
        (tensor(3), []),
        (tensor(9), []),
        (value(field(8, 2, field(4, 2, struct.pack("<f", 1.5)))), []),  # of no kind
        (value(), []),
    ],
)
def test_a_tensor_is_a_number_if_it_has_one_element(data: bytes, found: list[float]) -> None:
    assert numbers(data) == found


def shaped(*sizes: int, more: bytes = b"") -> bytes:
    named = field(2, 2, b"name") + field(3, 0, varint(9))  # nothing that counts
    dimensions = b"".join(field(2, 2, field(1, 0, varint(size)) + named) for size in sizes)
    return tensor(1, field(2, 2, dimensions + more), field(4, 2, struct.pack("<f", 1.5)))


@pytest.mark.parametrize(
    ("sizes", "one"), [((), True), ((1,), True), ((1, 1), True), ((2,), False), ((1, 0), False)]
)
def test_a_shape_of_one_element_is_a_number(sizes: tuple[int, ...], one: bool) -> None:
    assert bool(numbers(shaped(*sizes))) is one


def test_a_shape_is_made_of_its_dimensions_alone() -> None:
    other = field(4, 2, field(1, 0, varint(5))) + field(2, 0, varint(5)) + field(3, 0, varint(1))
    assert numbers(shaped(1, more=other)) == [1.5]
    assert numbers(shaped(1, more=field(2, 2, b""))) == []  # a dimension of no size
    assert numbers(shaped(1, more=field(2, 2, field(1, 2, b"ab")))) == []


@pytest.mark.parametrize(
    "data",
    [
        field(1, 1, b"1234567"),  # a byte is missing
        field(1, 5, b"123"),
        varint(1 << 3 | 2) + varint(9) + b"12345678",
        varint(1 << 3 | 3),  # groups are not used
        field(0, 0, varint(1)),
        varint(2 << 3) + b"\x80" * 10 + b"\x01",
        varint(2 << 3) + b"\x80",
        value(field(2, 5, b"1234"), tag=b"\xff\xfe"),
    ],
)
def test_what_is_no_record_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_record(data)


def test_a_number_of_ten_bytes_is_the_longest() -> None:
    assert parse_record(varint(2 << 3) + b"\xff" * 9 + b"\x01").step == -1
    assert parse_record(varint(2 << 3) + b"\x81" + b"\x80" * 8 + b"\x00").step == 1


def read(path: Path, content: bytes) -> EventFile:
    path.write_bytes(content)
    file = EventFile(path)
    file.read()
    return file


def test_damage_is_counted_and_told(tmp_path: Path) -> None:
    good = [frame(event.SerializeToString()) for event in EVENTS[:3]]
    bad_record = bytearray(good[1])
    bad_record[-6] ^= 1
    bad_length = bytearray(good[1])
    bad_length[0] ^= 1
    name = "events.out.tfevents.1"
    file = read(tmp_path / name, good[0] + bytes(bad_record) + good[2] + good[0][:9])
    assert (file.damage.records, file.damage.frames) == (1, 0)
    assert file.damage.unfinished_bytes == 9
    folder = EventFolder(tmp_path)
    assert folder.read().keys() == {"loss", "kl"}
    assert [text.split(": ")[1] for text in folder.problems()] == [
        "1 damaged records were skipped.",
        "ends in the middle of a record (9 bytes)",
    ]
    file = read(tmp_path / name, good[0] + bytes(bad_length) + good[2])
    assert (file.damage.records, file.damage.frames) == (0, 1)
    assert file.damage.skipped_bytes == len(bad_length)
    folder = EventFolder(tmp_path)
    assert folder.read()["kl"].values.tolist() == [1.0]
    assert f"{len(bad_length)} bytes were skipped" in folder.problems()[0]


@pytest.mark.parametrize("byte", range(8))
def test_after_a_length_that_cannot_be_trusted_the_next_frame_is_looked_for(
    tmp_path: Path, byte: int
) -> None:
    frames = [bytearray(frame(event.SerializeToString())) for event in EVENTS[:3]]
    frames[1][byte] ^= 1
    (tmp_path / "e").write_bytes(b"".join(frames))
    assert EventFile(tmp_path / "e").read().keys() == {"loss", "kl"}


def test_records_that_are_malformed_cost_nothing_but_themselves(tmp_path: Path) -> None:
    good = [scalar("x", step, float(step)).SerializeToString() for step in (1, 2, 3)]
    bad = b"\x0b" + good[0][1:]  # of a kind that is not used, as long as the others
    content = frame(bad) + frame(good[0]) + frame(bad) + frame(good[1]) + frame(good[2])
    (tmp_path / "e").write_bytes(content)
    file = EventFile(tmp_path / "e")
    assert file.read()["x"].values.tolist() == [1.0, 2.0, 3.0]
    assert file.damage.records == 2


def test_intact_frames_around_bytes_that_are_no_record_are_read(tmp_path: Path) -> None:
    content = frame(b"\xff\xff") + frame(b"") + file_of(EVENTS[:1])
    file = read(tmp_path / "e", content)
    assert (file.damage.records, file.damage.frames) == (1, 0)
    assert EventFile(tmp_path / "e").read()["loss"].values.tolist() == [1.0]


@pytest.mark.parametrize("stray", [1, 2, 11, 12, 13])
def test_stray_bytes_between_records_cost_no_record(stray: int, tmp_path: Path) -> None:
    content = file_of(EVENTS[:3]) + b"\x07" * stray + file_of(EVENTS[3:])
    found, file = values(tmp_path / "events", content)
    assert sum(map(len, found.values())) == len(EVENTS)
    assert (file.damage.frames, file.damage.skipped_bytes) == (1, stray)


def test_an_empty_record_is_neither_a_value_nor_damage(tmp_path: Path) -> None:
    found, file = values(tmp_path / "events", frame(b"") + file_of(EVENTS) + frame(b""))
    assert sum(map(len, found.values())) == len(EVENTS)
    assert (file.damage.records, file.damage.frames) == (0, 0)


@pytest.mark.parametrize(("largest", "count"), [(1, 0), (10_000, len(EVENTS))])
def test_a_record_longer_than_scalars_need_is_stepped_over(
    largest: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "LARGEST", largest)
    found, file = values(tmp_path / "events", file_of(EVENTS))
    assert sum(map(len, found.values())) == count
    assert (file.damage.records, file.damage.frames) == (0, 0)


def test_values_of_many_layouts_keep_the_order_of_the_file(tmp_path: Path) -> None:
    steps = [1, 300, 2, 70_000, 3, 301]  # one, two and three bytes
    events = [scalar("x", step, float(n), time=n) for n, step in enumerate(steps)]
    (tmp_path / "e").write_bytes(file_of(events))
    found = EventFile(tmp_path / "e").read()["x"]
    assert found.steps.tolist() == steps
    assert found.values.tolist() == found.times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_more_layouts_than_are_remembered_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steadyrl.store.foreign.event_files.TEMPLATES", 2)
    events = [scalar(tag, step, float(step)) for step in range(3) for tag in "abcd"]
    (tmp_path / "e").write_bytes(file_of(events))
    found = EventFile(tmp_path / "e").read()
    assert list(found) == list("abcd")
    assert all(series.values.tolist() == [0.0, 1.0, 2.0] for series in found.values())


@pytest.mark.parametrize("block", [64, 100, 4096])
def test_the_size_of_a_block_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    content = bytearray(file_of(EVENTS))
    content[200] ^= 1
    (tmp_path / "e").write_bytes(bytes(content))
    whole = EventFile(tmp_path / "e")
    wanted = whole.read()
    monkeypatch.setattr("steadyrl.store.foreign.event_files.BLOCK", block)
    file = EventFile(tmp_path / "e")
    found = file.read()
    assert file.damage == whole.damage
    assert found.keys() == wanted.keys()
    for tag, series in found.items():
        assert np.array_equal(series.steps, wanted[tag].steps)


def test_a_record_beyond_a_block_is_stepped_over_even_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steadyrl.store.foreign.event_files.BLOCK", 256)
    large, after = frame(field(3, 2, b"x" * 600)), frame(EVENTS[0].SerializeToString())
    path = tmp_path / "e"
    path.write_bytes(large[:300])
    file = EventFile(path)
    assert file.read() == {}
    assert not file.replaced
    path.write_bytes(large + after)
    assert file.read()["loss"].values.tolist() == [1.0]
    assert file.damage.records == file.damage.frames == file.damage.unfinished_bytes == 0


def test_a_file_is_replaced_once_it_is_shorter_than_what_was_read(tmp_path: Path) -> None:
    content = file_of(EVENTS)
    file = read(tmp_path / "e", content)
    assert not file.replaced
    (tmp_path / "e").write_bytes(content[:-1])
    assert file.replaced
    (tmp_path / "e").unlink()
    assert not file.replaced  # it may come back
    with pytest.raises(StoreError, match="cannot be read"):
        file.read()
