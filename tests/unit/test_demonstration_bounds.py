"""Demonstrations take no more memory than their file explains, and come from no other file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from steadyrl.core.errors import DataError
from steadyrl.experience import demonstration_bounds
from steadyrl.experience.demonstration_files import read_demonstrations


def test_demonstrations_far_larger_than_their_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demonstration_bounds, "UNPACKED", 1 << 20)
    zeros = np.zeros((100_000, 8))
    np.savez_compressed(tmp_path / "d.npz", observations=zeros, actions=zeros)
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        for name in ("observations", "actions"):
            file.create_dataset(name, shape=(10**8, 8), dtype="f8", chunks=(1000, 8))
    for name in ("d.npz", "d.hdf5"):
        with pytest.raises(DataError, match="its arrays would take"):
            read_demonstrations(tmp_path / name)


def test_an_hdf5_file_reads_no_other_file(tmp_path: Path) -> None:
    other, secret = tmp_path / "other.hdf5", tmp_path / "secret"
    with h5py.File(other, "w") as file:
        file["observations"] = np.ones((8, 3))
    secret.write_bytes(bytes(192))
    layout = h5py.VirtualLayout(shape=(8, 3), dtype="f8")
    layout[:] = h5py.VirtualSource(str(other), "observations", shape=(8, 3))
    kinds: dict[str, Callable[[Any], Any]] = {
        "linked": lambda file: file.__setitem__(
            "obs", h5py.ExternalLink(str(other), "observations")
        ),
        "stored": lambda file: file.create_dataset(
            "obs", shape=(8, 3), dtype="f8", external=[(str(secret), 0, 192)]
        ),
        "virtual": lambda file: file.create_virtual_dataset("obs", layout),
    }
    for name, put_observations in kinds.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            put_observations(file)
            file["actions"] = np.ones((8, 1))
        with pytest.raises(DataError, match="lies in another file"):
            read_demonstrations(tmp_path / f"{name}.h5")
