"""Garbled logs and pickles by the ten thousand: slow, run by 'make test-slow'."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyrl.core.errors import SteadyError
from steadyrl.store.foreign.event_files import EventFile
from steadyrl.store.foreign.run import ForeignRun
from tests.unit.test_event_files import EVENTS, file_of, frame
from tests.unit.test_foreign_runs import SB3
from tests.unit.test_unpickle import fuzzed

FILE = file_of(EVENTS)
WHOLE = {
    tag: {
        (int(e.step), e.summary.value[0].simple_value)
        for e in EVENTS
        if e.summary.value[0].tag == tag
    }
    for tag in ("loss", "a/rather/long tag", "kl")
}
MANY = settings(
    max_examples=34_000,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

change = st.tuples(st.integers(0, len(FILE) - 1), st.integers(0, 255))
cut = st.integers(0, len(FILE))
# Lengths that lie: huge, negative as signed numbers, just beyond the end.
length = st.sampled_from([0, 1, 2**31, 2**32, 2**63, 2**64 - 1, len(FILE), len(FILE) + 1])


@pytest.mark.slow
@MANY
@given(st.lists(change, max_size=8), cut, st.binary(max_size=24), st.none() | length)
def test_garbled_event_files(
    tmp_path: Path, changes: list[tuple[int, int]], end: int, tail: bytes, lie: int | None
) -> None:
    content = bytearray(FILE)
    for place, value in changes:
        content[place] = value
    if lie is not None:
        content[20:28] = struct.pack("<Q", lie)
    path = tmp_path / "e"
    path.write_bytes(bytes(content[:end]) + tail)
    file = EventFile(path)
    for tag, series in file.read().items():
        found = set(zip(series.steps.tolist(), series.values.tolist(), strict=True))
        assert found <= WHOLE[tag]
    again = file.read()
    assert again == {}


@pytest.mark.slow
@MANY
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_intact_frames_around_garbled_records(tmp_path: Path, records: list[bytes]) -> None:
    path = tmp_path / "e"
    path.write_bytes(b"".join(frame(record) for record in records) + FILE)
    found = EventFile(path).read()
    for tag, wanted in WHOLE.items():
        series = found[tag]
        assert wanted <= set(zip(series.steps.tolist(), series.values.tolist(), strict=True))


cell = st.one_of(
    st.floats().map(str),
    st.integers().map(str),
    st.text(max_size=6),
    st.sampled_from(
        ["", "nan", "inf", "-inf", "1e999", "True", '"', "'", "\0", "#", "-0", "1_000"]
    ),
)


@pytest.mark.slow
@MANY
@given(
    st.lists(st.lists(cell, max_size=10), max_size=10), st.binary(max_size=10), st.integers(0, 40)
)
def test_garbled_tables(tmp_path: Path, rows: list[list[str]], tail: bytes, lost: int) -> None:
    text = "\n".join([SB3, *(",".join(row) for row in rows)])
    content = text.encode("utf-8", errors="surrogatepass") + tail
    (tmp_path / "progress.csv").write_bytes(content[: max(0, len(content) - lost)])
    try:
        run = ForeignRun(tmp_path)
    except SteadyError:
        return
    steps = [step.taken for step in run.steps()]
    assert steps == sorted(set(steps))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_mutated_pickles(tmp_path: Path, seed: int) -> None:
    assert fuzzed(10_000, seed, tmp_path).endswith("refused\n")
