"""Files that a reader once stumbled over: found by tests/fuzz, by random runs, or by thinking."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from steadyrl.core.errors import ConfigError, DataError
from steadyrl.core.presets import load_config
from steadyrl.core.yaml_text import parse_scalar, read_yaml
from steadyrl.experience.demonstration_files import read_demonstrations
from steadyrl.stability.detectors import return_collapse
from steadyrl.stability.window import Window
from steadyrl.store.foreign.beside import read_beside
from steadyrl.store.foreign.monitors import read_evaluations
from tests.rules.traces import after, trace_of

ARRAYS: dict[str, Any] = {"observations": np.zeros((8, 3), np.float32), "actions": np.ones((8, 2))}


def _npz() -> bytes:
    held = io.BytesIO()
    np.savez_compressed(held, **ARRAYS)
    return held.getvalue()


def test_an_npz_whose_packed_bytes_are_damaged_is_refused(tmp_path: Path) -> None:
    content = bytearray(_npz())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        first = archive.infolist()[0]
    start = first.header_offset + 30 + len(first.filename) + 20  # behind its local header
    content[start : start + 8] = b"\xff" * 8
    (tmp_path / "demos.npz").write_bytes(bytes(content))
    with pytest.raises(DataError, match="not a readable NPZ file"):
        read_demonstrations(tmp_path / "demos.npz")


HEADERS = {
    "a bracket that stays open": b"{'descr': '<f8', 'fortran_order': False, 'shape': (8, 3,",
    "a text that stays open": b"{'descr': '<f8, 'fortran_order': False, 'shape': (8, 3), }",
    "a type that is none": b"{'descr': '(<f8', 'fortran_order': False, 'shape': (8, 3), }",
    "a type of many": b"{'descr': '<f8,', 'fortran_order': False, 'shape': (8, 3), }",
    "a shape of nothing": b"{'descr': '<f8', 'fortran_order': False, 'shape': None, }",
    "brackets without end": b"(" * 4000,
}


@pytest.mark.parametrize("name", HEADERS)
def test_an_npz_with_a_damaged_header_behind_a_right_checksum_is_refused(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "demos.npz"
    header = HEADERS[name] + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(192)
    with zipfile.ZipFile(file, "w") as archive:
        for part in ("observations.npy", "actions.npy", "timesteps.npy"):
            archive.writestr(part, array)
    with pytest.raises(DataError):
        read_demonstrations(file)
    assert read_evaluations(file, []) == {}


@pytest.mark.parametrize("sign", [b"SNOD", b"TREE", b"HEAP"])
def test_an_hdf5_file_with_a_damaged_inside_is_refused(tmp_path: Path, sign: bytes) -> None:
    file = tmp_path / "demos.hdf5"
    with h5py.File(file, "w") as opened:
        for name, array in ARRAYS.items():
            opened[name] = array
    content = file.read_bytes()
    assert sign in content
    file.write_bytes(content.replace(sign, b"XXXX"))
    with pytest.raises(DataError, match="not a readable HDF5 file"):
        read_demonstrations(file)


def test_an_hdf5_group_that_holds_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "demos.hdf5"
    with h5py.File(file, "w") as opened:
        opened.create_group("a")
        opened["a/b"] = opened["a"]
    with pytest.raises(DataError, match="not a readable HDF5 file"):
        read_demonstrations(file)


def test_an_hdf5_file_with_a_type_in_an_arrays_place_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "demos.hdf5"
    with h5py.File(file, "w") as opened:
        opened["observations"], opened["actions"] = ARRAYS["observations"], np.dtype("f8")
    with pytest.raises(DataError):
        read_demonstrations(file)


NASTY = {
    "a date that is none": "algorithm: ddpg\nseed: 2020-13-45\n",
    "an integer that is none": "algorithm: ddpg\nseed: !!int many\n",
    "a number of too many digits": "algorithm: ddpg\nseed: " + "9" * 5000 + "\n",
    "base 64 that is none": "algorithm: ddpg\nseed: !!binary é\n",
    "lists within lists": "algorithm: ddpg\nseed: " + "[" * 3000 + "]" * 3000 + "\n",
    "a mapping within itself": "&a\nalgorithm: ddpg\nenvironment: *a\n",
    "a list within itself": "algorithm: ddpg\nhidden_sizes: &a [*a]\n",
    "settings of an environment within themselves": (
        "algorithm: ddpg\nenvironment: {id: X-v0, settings: &a {x: *a}}\n"
    ),
    "a merge of a number": "algorithm: ddpg\n<<: 3\n",
    "a merge of itself": "&a\n<<: *a\n",
    "the equals sign": "algorithm: ddpg\nseed: =\n",
}


@pytest.mark.parametrize("name", NASTY)
def test_a_config_that_is_no_config_is_refused_in_words(name: str, tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(NASTY[name], encoding="utf-8")
    with pytest.raises(ConfigError):
        load_config(file)


@pytest.mark.parametrize("text", ["2020-13-45", "!!int x", "9" * 5000, "[" * 3000, "=", "&a [*a]"])
def test_a_flag_that_yaml_cannot_read_is_text(text: str) -> None:
    assert parse_scalar(text) == text


@pytest.mark.parametrize("tag", ["!!int", "!!float", "!!timestamp", "!!bool"])
def test_a_tag_without_a_value_is_no_setting(tag: str, tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(f"gamma: {tag}\n", encoding="utf-8")
    assert "gamma" not in read_beside(tmp_path).settings
    with pytest.raises(ConfigError):
        read_yaml(f"gamma: {tag}\n", source="my.yaml")


def test_many_references_to_one_value_are_one_value() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(ConfigError, match="repetitions"):
        read_yaml("\n".join(levels), source="my.yaml")


@pytest.mark.parametrize("spread", [math.nan, -1.0])
def test_a_fall_from_where_it_began_loses_no_gain_whatever_the_spread(spread: float) -> None:
    window = Window(1000)
    for step in trace_of({"eval.return_mean": after(40, 5.0, 1.0), "eval.return_std": spread}):
        window.append(step)
        assert return_collapse.detect(window, return_collapse.RULE.limits) is None
