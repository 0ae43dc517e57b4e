"""Arrays on disk in the safetensors format, written one after another: no second copy in memory.

A large state is split into several files. What is read back has been checked: the header against
the file's size, every file against its checksum. Types that numpy lacks (bf16) come back as bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.arrays import RawArray, SpreadArray, Storable, Stored
from steadyrl.core.errors import CheckpointError
from steadyrl.core.ordinary import open_ordinary

LARGEST_FILE = 4 << 30  # bytes of arrays in one file
LARGEST_HEADER = 100 << 20  # what the format's own library accepts
BLOCK = 16 << 20  # read at once for a checksum

KINDS: Mapping[str, str] = {
    "BOOL": "|b1",
    "I8": "|i1",
    "U8": "|u1",
    "I16": "<i2",
    "U16": "<u2",
    "F16": "<f2",
    "I32": "<i4",
    "U32": "<u4",
    "F32": "<f4",
    "I64": "<i8",
    "U64": "<u8",
    "F64": "<f8",
}
RAW_SIZES: Mapping[str, int] = {"BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
_NAMES = {np.dtype(text): kind for kind, text in KINDS.items()}


def write_arrays(folder: Path, arrays: Mapping[str, Storable]) -> dict[str, str]:
    """All arrays, in as many files as they need; returns each file's checksum."""
    parts = list(_parts(arrays))
    found = {}
    for number, part in enumerate(parts, start=1):
        name = "arrays.safetensors"
        if len(parts) > 1:
            name = f"arrays-{number:05d}-of-{len(parts):05d}.safetensors"
        found[name] = _write_file(folder / name, part)
    return found


def read_arrays(folder: Path, files: Mapping[str, str]) -> dict[str, Stored]:
    """What `write_arrays` wrote; damage of any kind is a CheckpointError."""
    found: dict[str, Stored] = {}
    for name, digest in files.items():
        if Path(name).name != name:
            raise CheckpointError(f"{folder}: '{name}' is no file of a checkpoint.")
        found |= _read_file(folder / name, digest)
    return found


def _parts(arrays: Mapping[str, Storable]) -> Iterator[dict[str, Storable]]:
    part: dict[str, Storable] = {}
    size = 0
    for name, array in arrays.items():
        if part and size + array.nbytes > LARGEST_FILE:
            yield part
            part, size = {}, 0
        part[name] = array
        size += array.nbytes
    yield part


def _bytes_of(array: Storable) -> np.ndarray[Any, Any]:
    return array if isinstance(array, np.ndarray) else array.content


def _kind_of(array: Storable) -> str:
    if isinstance(array, RawArray | SpreadArray):
        return array.kind
    kind = _NAMES.get(array.dtype)
    if kind is None:
        raise TypeError(f"arrays of {array.dtype} cannot be stored; use {', '.join(KINDS)}")
    return kind


def _write_file(path: Path, arrays: Mapping[str, Storable]) -> str:
    header: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        shape = list(array.shape)
        header[name] = {"dtype": _kind_of(array), "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers behind it are aligned
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in (len(text).to_bytes(8, "little"), text):
            file.write(piece)
            digest.update(piece)
        for array in arrays.values():
            content = np.ascontiguousarray(_bytes_of(array)).reshape(-1).view(np.uint8).data
            file.write(content)
            digest.update(content)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _read_file(path: Path, digest: str) -> dict[str, Stored]:
    try:
        with open_ordinary(path) as file:
            found = hashlib.sha256()
            while block := file.read(BLOCK):
                found.update(block)
            if found.hexdigest() != digest:
                raise CheckpointError(
                    f"{path.parent}: {path.name} is damaged (its checksum differs)."
                )
            size = file.tell()
            file.seek(0)
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, LARGEST_HEADER):
                raise _damaged(path, "its header is cut")
            header = _checked(json.loads(file.read(length)), size - 8 - length, path)
            return {name: _read_one(file, 8 + length, about) for name, about in header.items()}
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise CheckpointError(f"{path.parent}: {path.name} cannot be read ({error}).") from None


def _checked(header: Any, size: int, path: Path) -> dict[str, Any]:
    """The header, if every array in it has a known type and lies where it says."""
    if not isinstance(header, dict):
        raise _damaged(path, "it has no header")
    header.pop("__metadata__", None)
    end = 0
    for name, about in header.items():
        try:
            kind, shape, (start, stop) = about["dtype"], about["shape"], about["data_offsets"]
            item = RAW_SIZES.get(kind) or np.dtype(KINDS[kind]).itemsize
            whole = all(type(n) is int and n >= 0 for n in (*shape, start, stop))
            sound = whole and start == end and stop == start + item * math.prod(shape)
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound or stop > size:
            raise _damaged(path, f"the entry '{name}'")
        end = stop
    return header


def _read_one(file: Any, offset: int, about: Mapping[str, Any]) -> Stored:
    kind, shape, (start, stop) = about["dtype"], tuple(about["shape"]), about["data_offsets"]
    file.seek(offset + start)
    content = np.fromfile(file, np.uint8, stop - start)
    if kind in RAW_SIZES:
        return RawArray(kind, shape, content)
    return content.view(KINDS[kind]).reshape(shape)


def _damaged(path: Path, why: str) -> CheckpointError:
    return CheckpointError(f"{path.parent}: {path.name} is damaged ({why}).")
