from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from steadyrl.store.foreign import event_files
from steadyrl.store.foreign.checksums import masked_crc32c
from steadyrl.store.foreign.event_files import EventFile
from steadyrl.store.foreign.event_folder import EventFolder
from steadyrl.store.foreign.event_record import Malformed, parse_record

QUICK = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _crc(data: bytes) -> bytes:
    row = np.frombuffer(data, dtype=np.uint8)[None]
    return struct.pack("<I", int(masked_crc32c(row)[0]))


def frame(data: bytes) -> bytes:
    """A record with lengths and checksums around it."""
    head = struct.pack("<Q", len(data))
    return head + _crc(head) + data + _crc(data)


def scalar(tag: str, step: int, value: float, time: float = 1.5) -> Any:
    return event_pb2.Event(
        wall_time=time,
        step=step,
        summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]),
    )


def file_of(events: list[Any]) -> bytes:
    version = event_pb2.Event(wall_time=1.0, file_version="brain.Event:2")
    return b"".join(frame(event.SerializeToString()) for event in [version, *events])


EVENTS = [
    scalar(tag, step, value, time=100.0 + step)
    for step, value in enumerate([1.0, -2.5, math.inf, 0.1, 1e-30, 7.0])
    for tag in ("loss", "a/rather/long tag", "kl")
]
WHOLE = file_of(EVENTS)


def read(path: Path, content: bytes) -> tuple[dict[str, list[tuple[int, float]]], EventFile]:
    path.write_bytes(content)
    file = EventFile(path)
    found = file.read()
    return {
        tag: list(zip(s.steps.tolist(), s.values.tolist(), strict=True)) for tag, s in found.items()
    }, file


def test_the_checksum_is_castagnolis() -> None:
    (masked,) = masked_crc32c(np.frombuffer(b"123456789", dtype=np.uint8)[None])
    rotated = (int(masked) - 0xA282EAD8) & 0xFFFFFFFF
    assert ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF == 0xE3069283


def test_values_are_those_that_tensorboard_itself_reads(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    rng = np.random.default_rng(0)
    events = [
        scalar(f"tag{n % 7}/{'x' * (n % 5)}", int(step), float(value), time=1e9 + n / 7)
        for n, (step, value) in enumerate(
            zip(rng.integers(-5, 2**40, 500), rng.normal(size=500) * 1e6, strict=True)
        )
    ]
    (tmp_path / "events.out.tfevents.1.host").write_bytes(file_of(events))
    theirs = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0}).Reload()
    ours = EventFolder(tmp_path).read()
    assert ours.keys() == set(theirs.Tags()["scalars"])
    for tag, series in ours.items():
        wanted = theirs.Scalars(tag)
        assert series.steps.tolist() == [event.step for event in wanted]
        assert series.values.tolist() == [event.value for event in wanted]
        assert series.times.tolist() == [event.wall_time for event in wanted]


def test_scalars_written_as_tensors_are_read_too(tmp_path: Path) -> None:
    def tensor(**fields: Any) -> Any:
        shape = TensorShapeProto()
        value = summary_pb2.Summary.Value(
            tag="t", tensor=tensor_pb2.TensorProto(tensor_shape=shape, **fields)
        )
        return event_pb2.Event(step=3, summary=summary_pb2.Summary(value=[value]))

    events = [
        tensor(dtype=1, float_val=[0.5]),
        tensor(dtype=1, tensor_content=struct.pack("<f", -1.25)),
        tensor(dtype=2, double_val=[0.1]),
        tensor(dtype=9, int64_val=[-7]),
        tensor(dtype=3, tensor_content=struct.pack("<i", 9)),
        tensor(dtype=7, string_val=[b"text"]),
        tensor(dtype=1, tensor_content=struct.pack("<ff", 1.0, 2.0)),
    ]
    found, file = read(tmp_path / "e", file_of(events))
    assert found == {"t": [(3, v) for v in (0.5, -1.25, 0.1, -7.0, 9.0)]}
    assert file.damage.records == 0


def test_several_values_in_one_record_are_all_read(tmp_path: Path) -> None:
    both = [
        summary_pb2.Summary.Value(tag="a", simple_value=1.0),
        summary_pb2.Summary.Value(tag="b", simple_value=2.0),
    ]
    events = [event_pb2.Event(step=n, summary=summary_pb2.Summary(value=both)) for n in (0, 300)]
    found, _ = read(tmp_path / "e", file_of(events))
    assert found == {"a": [(0, 1.0), (300, 1.0)], "b": [(0, 2.0), (300, 2.0)]}


def test_of_a_file_cut_anywhere_every_whole_record_is_read(tmp_path: Path) -> None:
    ends = np.cumsum(
        [len(file_of([])), *(len(frame(e.SerializeToString())) for e in EVENTS)]
    ).tolist()
    for cut in range(0, len(WHOLE), 3):
        found, file = read(tmp_path / "e", WHOLE[:cut])
        count = sum(len(values) for values in found.values())
        assert count == max(0, sum(end <= cut for end in ends) - 1)
        assert file.damage.records == file.damage.frames == 0
        assert (file.damage.unfinished_bytes > 0) == (cut not in (0, *ends))


def test_one_damaged_byte_costs_one_record(tmp_path: Path) -> None:
    for place in range(0, len(WHOLE), 3):
        content = bytearray(WHOLE)
        content[place] ^= 0x40
        found, file = read(tmp_path / "e", bytes(content))
        assert sum(len(values) for values in found.values()) >= len(EVENTS) - 1
        assert file.damage.records + file.damage.frames == 1


def test_a_growing_file_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "e"
    whole, _ = read(tmp_path / "whole", WHOLE)
    path.write_bytes(b"")
    file, pieces = EventFile(path), []
    for start in range(0, len(WHOLE), 37):
        with path.open("ab") as out:
            out.write(WHOLE[start : start + 37])
        pieces.append(file.read())
    joined = {
        tag: [
            (int(step), float(value))
            for piece in pieces
            if tag in piece
            for step, value in zip(piece[tag].steps, piece[tag].values, strict=True)
        ]
        for tag in whole
    }
    assert joined == whole
    assert file.damage.unfinished_bytes == 0


def test_a_record_larger_than_any_block_is_stepped_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "BLOCK", 4 << 10)
    monkeypatch.setattr(event_files, "LARGEST", 1 << 10)
    picture = summary_pb2.Summary.Value(tag="image")
    picture.image.encoded_image_string = b"\1" * (5 << 10)
    large = event_pb2.Event(step=1, summary=summary_pb2.Summary(value=[picture]))
    found, file = read(tmp_path / "e", file_of([EVENTS[0], large, EVENTS[1]]))
    assert found == {"loss": [(0, 1.0)], "a/rather/long tag": [(0, 1.0)]}
    assert file.damage.records == file.damage.frames == 0


def test_records_are_read_up_to_the_size_above_which_they_hold_no_scalars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "LARGEST", len(EVENTS[0].SerializeToString()))
    found, file = read(tmp_path / "e", file_of(EVENTS[:3]))
    assert found == {"loss": [(0, 1.0)], "kl": [(0, 1.0)]}  # the third has a longer name
    assert file.damage.records == file.damage.frames == 0


def test_a_record_of_more_than_a_megabyte_is_passed_over(tmp_path: Path) -> None:
    length = (1 << 20) + 1
    head = struct.pack("<Q", length)
    long = head + _crc(head) + bytes(length + 4)  # nothing that would do as a record
    found, file = read(tmp_path / "e", long + file_of(EVENTS[:1]))
    assert found == {"loss": [(0, 1.0)]}
    assert file.damage.records == file.damage.frames == file.damage.unfinished_bytes == 0


def test_files_of_a_folder_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.2.host").write_bytes(file_of([scalar("a", 2, 2.0)]))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(file_of([scalar("a", 1, 1.0)]))
    assert EventFolder(tmp_path).read()["a"].values.tolist() == [1.0, 2.0]


@QUICK
@given(st.binary(max_size=400))
def test_bytes_that_are_no_record_are_refused_and_nothing_worse(data: bytes) -> None:
    try:
        record = parse_record(data)
    except Malformed:
        return
    assert all(number.at < len(data) for number in record.numbers)


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=20),
    st.integers(0, 4000),
    st.binary(max_size=60),
)
def test_garbled_files_never_raise_and_never_invent(
    tmp_path: Path, changes: list[tuple[int, int]], cut: int, tail: bytes
) -> None:
    content = bytearray(WHOLE[: max(cut, 1)])
    for place, value in changes:
        content[place % len(content)] = value
    found, _ = read(tmp_path / "garbled", bytes(content) + tail)
    wanted, _ = read(tmp_path / "clean", WHOLE)
    for tag, values in found.items():
        assert set(values) <= set(wanted[tag])
