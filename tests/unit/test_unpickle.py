"""Pickles from outside: what Python and NumPy write is read, and no program in a file is run."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.experience.unpickle import read_pickle
from tests.unit.pickles import ARRAYS, GRID, HOSTILE, VALUES, content, kind

READ_ALL = """
import json, resource, sys
from pathlib import Path
from steadyrl.core.errors import DataError
from steadyrl.experience.demonstration_files import read_demonstrations

resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, 16 * 2**30))
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        told = f"read: {len(read_demonstrations(path))}"
    except DataError as error:
        told = f"DataError: {error}"
    print(json.dumps([path.stem, told]), flush=True)
"""


def _read(tmp_path: Path, written: bytes) -> Any:
    (tmp_path / "a.pkl").write_bytes(written)
    return read_pickle(tmp_path / "a.pkl")


def _as_numpy_1(written: bytes) -> bytes:
    """The names of NumPy 1, with their lengths where those are written."""
    for module in (b"multiarray", b"numeric"):
        new, old = b"numpy._core." + module, b"numpy.core." + module
        written = written.replace(bytes([len(new)]) + new, bytes([len(old)]) + old)
        written = written.replace(new, old)
    return written


@pytest.mark.parametrize("written_by", ["numpy 2", "numpy 1"])
@pytest.mark.parametrize("protocol", range(6))
def test_every_array_that_numpy_writes_is_read_as_it_was(
    protocol: int, written_by: str, tmp_path: Path
) -> None:
    written = pickle.dumps(ARRAYS, protocol=protocol)
    if written_by == "numpy 1":
        written = _as_numpy_1(written)
    found = _read(tmp_path, written)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype, name
        np.testing.assert_array_equal(found[name], array, strict=True, err_msg=name)


@pytest.mark.parametrize("protocol", range(6))
def test_every_plain_value_is_read_as_it_was(protocol: int, tmp_path: Path) -> None:
    found = _read(tmp_path, pickle.dumps(VALUES, protocol=protocol))
    assert found == VALUES
    for name in ("scalars", "numbers", "others", "containers"):
        assert [type(value) for value in found[name]] == [type(value) for value in VALUES[name]]
    assert type(found["ordered"]) is type(found["defaults"]) is dict


def test_what_is_held_twice_is_one_value_in_two_places(tmp_path: Path) -> None:
    row = {"observations": GRID, "next": [GRID]}
    found = _read(tmp_path, pickle.dumps([row, row]))
    assert found[0] is found[1]
    assert found[0]["observations"] is found[0]["next"][0]


def test_a_types_size_and_flags_are_not_taken_from_the_file(tmp_path: Path) -> None:
    state = b"(I3\nV>\nNNNI64\nI64\nI63\ntb"  # eight times as large, and full of pointers
    array = b"cnumpy._core.numeric\n_frombuffer\n(" + content(16) + kind(b"f8", state) + b"(I2\nt"
    found = _read(tmp_path, array + b"VC\ntR.")
    assert found.dtype == np.dtype(">f8")
    assert found.tobytes() == b"A" * 16


def test_truth_values_are_true_or_false_whatever_bytes_stand_for_them(tmp_path: Path) -> None:
    array = b"cnumpy._core.numeric\n_frombuffer\n(" + content(2) + kind(b"b1") + b"(I2\ntVC\ntR."
    assert _read(tmp_path, array).view(np.uint8).tolist() == [1, 1]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a process of its own says about each hostile program, as long as it lives."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, (program, _) in HOSTILE.items():
        (folder / f"{name}.pkl").write_bytes(program)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(folder)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_is_refused_in_words(name: str, answers: dict[str, str]) -> None:
    assert answers[name].startswith("DataError: ")
    assert HOSTILE[name][1] in answers[name]


def fuzzed(count: int, seed: int, folder: Path) -> str:
    """What a process of its own tells after reading so many mutated pickles."""
    program = [sys.executable, "-m", "tests.unit.fuzz_pickles"]
    done = subprocess.run(
        [*program, str(count), str(seed), str(folder / "mutated.pkl")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_mutated_pickles_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    assert fuzzed(2000, 0, tmp_path).endswith("refused\n")
