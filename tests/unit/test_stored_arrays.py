"""Arrays on disk: what the format's own library reads, in any type, in several files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from steadyrl.core.arrays import RawArray, SpreadArray, Stored, spread_arrays
from steadyrl.core.errors import CheckpointError
from steadyrl.store import arrays as module
from steadyrl.store.arrays import KINDS, read_arrays, write_arrays
from steadyrl.store.checkpoints import Checkpoints

SOME: dict[str, Stored] = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array(7, dtype=np.int64),
    "empty": np.zeros((0, 4), dtype=np.uint8),
    "flags": np.array([True, False]),
    "turned": np.arange(6.0).reshape(2, 3).T,
}


def _equal(ours: Stored, theirs: Stored) -> bool:
    if isinstance(ours, RawArray) or isinstance(theirs, RawArray):
        return ours == theirs
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    found = read_arrays(tmp_path, write_arrays(tmp_path, SOME))
    assert list(found) == list(SOME)
    assert all(_equal(found[name], SOME[name]) for name in SOME)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_keeps_its_type(kind: str, tmp_path: Path) -> None:
    value = np.array([[0, 1], [1, 0]]).astype(KINDS[kind])
    (found,) = read_arrays(tmp_path, write_arrays(tmp_path, {"x": value})).values()
    assert _equal(found, value)


def test_the_formats_own_library_reads_it(tmp_path: Path) -> None:
    write_arrays(tmp_path, SOME)
    theirs = load_file(tmp_path / "arrays.safetensors")
    assert all(np.array_equal(theirs[name].numpy(), np.asarray(SOME[name])) for name in SOME)


def test_an_array_that_lies_with_others_is_called_for_once_and_when_it_is_written(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def spread(name: str) -> SpreadArray:
        def gather() -> NDArray[np.uint8]:
            asked.append(f"gather {name}")
            return np.array([1.0, 2.0], dtype=np.float32).view(np.uint8)

        return SpreadArray("F32", (2, 1), 8, gather, call=lambda: asked.append(f"call {name}"))

    state: dict[str, Any] = {"parts": {"a": spread("a"), "plain": SOME["a"]}, "b": spread("b")}
    assert asked == []
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(state, step=1, good=True)
    assert asked == ["call a", "gather a", "call b", "gather b"]
    found = checkpoints.load(1)
    for array in (found["parts"]["a"], found["b"]):
        assert _equal(array, np.array([[1.0], [2.0]], dtype=np.float32))
    assert [*spread_arrays(state)] == [state["parts"]["a"], state["b"]]


def test_numbers_that_numpy_lacks_are_kept_bit_for_bit(tmp_path: Path) -> None:
    numbers = torch.tensor([[1.5, -2.0, 3e38]], dtype=torch.bfloat16)
    content = numbers.view(torch.uint8).numpy().reshape(-1)
    raw = RawArray("BF16", (1, 3), content)
    files = write_arrays(tmp_path, {"w": raw})
    assert read_arrays(tmp_path, files)["w"] == raw
    assert torch.equal(load_file(tmp_path / "arrays.safetensors")["w"], numbers)


def test_a_large_state_is_split_into_files_that_are_all_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_FILE", 1000)
    state = {f"part {n}": np.full(100, n, dtype=np.float64) for n in range(5)}  # 800 bytes each
    files = write_arrays(tmp_path, state)
    assert list(files) == [f"arrays-{n:05d}-of-00005.safetensors" for n in range(1, 6)]
    found = read_arrays(tmp_path, files)
    assert all(_equal(found[name], state[name]) for name in state)
    (tmp_path / "arrays-00003-of-00005.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"arrays-00003-of-00005\.safetensors cannot be read"):
        read_arrays(tmp_path, files)


def test_a_checkpoint_may_hold_what_numpy_lacks(tmp_path: Path) -> None:
    raw = RawArray("BF16", (2,), np.arange(4, dtype=np.uint8))
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save({"weights": {"w": raw}, "n": 3}, step=1, good=True)
    assert checkpoints.load(1) == {"weights": {"w": raw}, "n": 3}


def test_a_file_outside_of_the_checkpoint_is_never_opened(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "other.safetensors")
    digest = hashlib.sha256((tmp_path / "other.safetensors").read_bytes()).hexdigest()
    inside = tmp_path / "step"
    inside.mkdir()
    with pytest.raises(CheckpointError, match="is no file of a checkpoint"):
        read_arrays(inside, {"../other.safetensors": digest})


def _signed(folder: Path, header: Any, content: bytes = b"\0" * 8) -> dict[str, str]:
    """A file with any header, and a checksum that fits it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = len(text).to_bytes(8, "little") + text + content
    (folder / "x.safetensors").write_bytes(whole)
    return {"x.safetensors": hashlib.sha256(whole).hexdigest()}


SOUND = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "entry",
    [
        {**SOUND, "dtype": "O"},
        {**SOUND, "shape": [-2]},
        {**SOUND, "shape": [2.0]},
        {**SOUND, "shape": [1 << 40, 1 << 40]},
        {**SOUND, "data_offsets": [0, 16]},
        {**SOUND, "data_offsets": [0.0, 8.0]},
        {**SOUND, "data_offsets": [False, 8]},
        {**SOUND, "data_offsets": [-8, 0]},
        {**SOUND, "data_offsets": [8, 16]},
        {**SOUND, "data_offsets": "ab"},
        {"dtype": "F32"},
        7,
    ],
)
def test_an_entry_that_lies_is_found_out_before_anything_is_read(
    entry: Any, tmp_path: Path
) -> None:
    assert "x" in read_arrays(tmp_path, _signed(tmp_path, {"x": SOUND}))
    with pytest.raises(CheckpointError, match="is damaged"):
        read_arrays(tmp_path, _signed(tmp_path, {"x": entry}))


def test_a_header_longer_than_its_file_is_damage(tmp_path: Path) -> None:
    whole = (1 << 40).to_bytes(8, "little") + b"{}"
    (tmp_path / "x.safetensors").write_bytes(whole)
    with pytest.raises(CheckpointError, match="its header is cut"):
        read_arrays(tmp_path, {"x.safetensors": hashlib.sha256(whole).hexdigest()})


@given(header=st.binary(max_size=60), content=st.binary(max_size=40))
def test_no_header_makes_it_fail_otherwise(
    header: bytes, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("signed")
    try:
        found = read_arrays(folder, _signed(folder, header, content))
    except CheckpointError:
        return
    assert found == {}  # only an empty header is sound by chance
