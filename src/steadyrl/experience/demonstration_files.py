"""Transitions that somebody else made, from the files people keep them in.

Pickled lists of transitions (as robotics scripts write them), NPZ, HDF5 (flat) and Minari datasets.
"""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyrl.core.errors import DataError
from steadyrl.experience.demonstration_bounds import (
    hdf5_sizes,
    refuse_bombs,
    refuse_too_large,
)
from steadyrl.experience.demonstrations import Array, Demonstrations, made
from steadyrl.experience.unpickle import read_pickle

# What people call the same thing.
OBSERVATIONS = ("observations", "observation", "obs", "states", "state")
ACTIONS = ("actions", "action", "acts", "act")
ENDS = ("dones", "done", "terminals", "terminations", "terminated")
CUTS = ("timeouts", "truncations", "truncated", "episode_ends", "ends")
MASKS = ("masks", "mask")
# What the libraries raise on files that are damaged; RuntimeError: groups within themselves, too.
_UNREADABLE = (
    *(ValueError, TypeError, OSError, KeyError, EOFError, RuntimeError, NotImplementedError),
    *(struct.error, zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError),
)


def read_demonstrations(path: Path, *, observation_key: str | None = None) -> Demonstrations:
    """A file's transitions, whatever kind it is."""
    try:
        return _read(path, observation_key)
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        # There are more ways not to be arrays of numbers than could be asked for one by one.
        raise DataError(
            f"{path}: its content cannot be used ({str(error)[:200]}). Give observations and "
            "actions as arrays of numbers, a row for each transition."
        ) from None


def _read(path: Path, observation_key: str | None) -> Demonstrations:
    if path.is_dir():
        inner = path / "data" / "main_data.hdf5"
        if not inner.is_file():
            raise DataError(f"{path}: a folder without data/main_data.hdf5 is no Minari dataset.")
        return _read_hdf5(inner, observation_key)
    if not path.exists():
        raise DataError(f"{path}: there is no such file. Give a .pkl, .npz, .hdf5 or a Minari one.")
    if not path.is_file():
        raise DataError(f"{path}: it is no ordinary file, and may never end.")
    ending = path.suffix.lower()
    if ending in (".pkl", ".pickle"):
        return _from_records(read_pickle(path), str(path), observation_key)
    if ending == ".npz":
        return _read_npz(path, observation_key)
    if ending in (".hdf5", ".h5"):
        return _read_hdf5(path, observation_key)
    raise DataError(f"{path}: '{ending}' is not a kind that can be read: .pkl, .npz, .hdf5, .h5.")


def write_npz(data: Demonstrations, path: Path) -> None:
    """As NPZ, the kind that everybody can read without running anything."""
    ends = np.zeros(len(data), dtype=bool)
    ends[[*(data.starts[1:] - 1), len(data) - 1]] = True
    np.savez_compressed(path, observations=data.observations, actions=data.actions, ends=ends)


def _read_npz(path: Path, key: str | None) -> Demonstrations:
    if not zipfile.is_zipfile(path):  # NumPy would take it for a pickle
        raise DataError(f"{path}: not a readable NPZ file (it is no zip archive).")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            refuse_bombs(file.zip.infolist(), path)
            arrays = {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        reason = "it holds pickled objects" if "pickle" in str(error).lower() else str(error)
        raise DataError(f"{path}: not a readable NPZ file ({reason}).") from None
    return _from_columns(arrays, str(path), key)


def _read_hdf5(path: Path, key: str | None) -> Demonstrations:
    try:
        import h5py
    except ImportError:
        raise DataError(
            f"{path}: reading HDF5 needs h5py: install steadyrl with its extra 'demos'."
        ) from None
    try:
        with h5py.File(path, "r") as file:
            episodes = sorted(
                (name for name in file if name.startswith("episode")),
                key=lambda name: int("".join(filter(str.isdigit, name)) or 0),
            )
            refuse_too_large(sum(hdf5_sizes(file)), path)
            columns = {} if episodes else {name: _held(file[name]) for name in file}
            parts = [{name: _held(file[e][name]) for name in file[e]} for e in episodes]
    except _UNREADABLE as error:
        raise DataError(f"{path}: not a readable HDF5 file ({str(error)[:200]}).") from None
    if not episodes:
        return _from_columns(columns, str(path), key)
    return _from_episodes(parts, str(path), key)


def _held(node: Any) -> Any:
    """An HDF5 node as arrays."""
    if hasattr(node, "keys"):
        return {name: _held(node[name]) for name in node}
    return np.asarray(node)


def _from_episodes(
    parts: Sequence[Mapping[str, Any]], source: str, key: str | None
) -> Demonstrations:
    """Minari's way: one group per episode, with one observation more than actions."""
    observations, actions, starts, count = [], [], [], 0
    for part in parts:
        acted = _matrix(_one_of(part, ACTIONS, source), source)
        seen = _observation_column(_one_of(part, OBSERVATIONS, source), source, key)
        observations.append(seen[: len(acted)])
        actions.append(acted)
        starts.append(count)
        count += len(acted)
    return made(_joined(observations, source), _joined(actions, source), starts, source)


def _from_columns(columns: Mapping[str, Any], source: str, key: str | None) -> Demonstrations:
    """One array per quantity; trajectories end where a flag says so."""
    seen = _observation_column(_one_of(columns, OBSERVATIONS, source), source, key)
    acted = _matrix(_one_of(columns, ACTIONS, source), source)
    ends = np.zeros(len(acted), dtype=bool)
    for name in (*ENDS, *CUTS):
        if name in columns:
            ends |= _flags(columns[name], len(acted), name, source)
    for name in MASKS:
        if name in columns:
            ends |= ~_flags(columns[name], len(acted), name, source)
    return made(seen, acted, _starts(ends), source)


def _from_records(records: Any, source: str, key: str | None) -> Demonstrations:
    """A list of transitions, or of trajectories of them, each a dictionary."""
    if isinstance(records, Mapping):
        return _from_columns(records, source, key)
    if not isinstance(records, list | tuple) or not len(records):
        raise DataError(
            f"{source}: expected a list of transitions, found {type(records).__name__}."
        )
    if isinstance(records[0], list | tuple):
        trajectories = [_list_of_transitions(part, source, key) for part in records]
    elif isinstance(records[0], Mapping) and _is_trajectory(records[0]):
        return _from_episodes(records, source, key)
    else:
        trajectories = [_list_of_transitions(records, source, key)]
    starts, count = [], 0
    for seen, _, ends in trajectories:
        starts += [count + start for start in _starts(ends)]
        count += len(seen)
    return made(
        _joined([seen for seen, _, _ in trajectories], source),
        _joined([acted for _, acted, _ in trajectories], source),
        starts,
        source,
    )


def _joined(parts: Sequence[Array], source: str) -> Array:
    try:
        return np.concatenate(parts)
    except ValueError as error:
        raise DataError(f"{source}: trajectories differ in shape ({error}).") from None


def _is_trajectory(record: Mapping[str, Any]) -> bool:
    """Whether a dictionary holds whole columns: its actions are a matrix."""
    acted = next((record[name] for name in ACTIONS if name in record), None)
    seen: Any = next((record[name] for name in OBSERVATIONS if name in record), None)
    if acted is None or seen is None:
        return False
    dimensions = _array(acted).ndim
    if dimensions == 1 and not isinstance(seen, Mapping) and _array(seen).ndim >= 2:
        return len(seen) - len(acted) in (0, 1)
    return dimensions == 2


def _list_of_transitions(
    records: Sequence[Any], source: str, key: str | None
) -> tuple[Array, Array, Array]:
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            kind = type(record).__name__
            raise DataError(f"{source}: transition {number} is a {kind}, not a dictionary.")
    try:
        seen = np.stack(
            [
                _observation_column(_one_of(r, OBSERVATIONS, source), source, key, single=True)
                for r in records
            ]
        )
        acted = np.stack([_array(_one_of(r, ACTIONS, source)).reshape(-1) for r in records])
    except ValueError as error:
        raise DataError(f"{source}: transitions differ in shape ({error}).") from None
    ends = np.zeros(len(records), dtype=bool)
    for name in (*ENDS, *CUTS):
        ends |= np.array([bool(np.any(_array(r.get(name, False)))) for r in records])
    for name in MASKS:
        ends |= ~np.array([bool(np.all(_array(r.get(name, True)))) for r in records])
    return seen, _matrix(acted, source), ends


def _one_of(record: Any, names: Sequence[str], source: str) -> Any:
    if not isinstance(record, Mapping):
        kind = type(record).__name__
        raise DataError(f"{source}: there is an entry of type {kind} where a dictionary is needed.")
    for name in names:
        if name in record:
            return record[name]
    found = _listed(record) or "nothing"
    raise DataError(f"{source}: none of {', '.join(names)} is there; it has {found}.")


def _observation_column(value: Any, source: str, key: str | None, *, single: bool = False) -> Array:
    """Observations as one array: dictionaries are joined, or one entry is taken."""
    if isinstance(value, Mapping):
        if key is not None:
            if key not in value:
                raise DataError(
                    f"{source}: observations have no '{key}'. There are: {_listed(value)}."
                )
            return _array(value[key])
        entries = [_array(value[name]) for name in sorted(value, key=str)]
        vectors = [entry for entry in entries if entry.dtype != np.uint8 or entry.ndim < 3]
        if not vectors:
            raise DataError(
                f"{source}: observations hold only images ({_listed(value)}). Choose one with "
                "demonstrations.observation_key."
            )
        if single:
            return np.concatenate([np.atleast_1d(vector).reshape(-1) for vector in vectors])
        return np.concatenate([vector.reshape(len(vector), -1) for vector in vectors], axis=1)
    return _array(value)


def _listed(names: Mapping[Any, Any]) -> str:
    """The first names, for a sentence."""
    return ", ".join(f"{name}"[:40] for name in islice(names, 20))


def _array(values: Any) -> Array:
    """Numbers as one array; text among them is refused before NumPy pads them all to its length."""
    if _has_text(values):
        raise TypeError("there is text where numbers are needed")
    return np.asarray(values)


def _has_text(values: Any) -> bool:
    if isinstance(values, list | tuple):
        return any(map(_has_text, values))
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "SU"
    return isinstance(values, str | bytes | bytearray)


def _matrix(actions: Any, source: str) -> Array:
    array = _array(actions)
    if array.dtype == object or array.dtype.kind not in "fiub":
        raise DataError(f"{source}: actions have type {array.dtype}; numbers are needed.")
    if not array.size:
        raise DataError(f"{source}: it holds no transition.")
    return array.reshape(len(array), -1) if array.ndim != 1 else array[:, None]


def _flags(values: Any, rows: int, name: str, source: str) -> NDArray[np.bool_]:
    flags = _array(values).astype(bool).reshape(-1)
    if len(flags) != rows:
        raise DataError(f"{source}: {name} has {len(flags)} entries for {rows} actions.")
    return flags


def _starts(ends: Array) -> list[int]:
    """First rows of trajectories, from where they end; what follows the last end is one more."""
    following = np.flatnonzero(ends) + 1
    return [0, *(int(row) for row in following if row < len(ends))]
