"""What a file of demonstrations may not do: unpack without a bound, or lead to other files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steadyrl.core.errors import DataError
from steadyrl.core.ordinary import PACKINGS

UNPACKED = 1 << 30  # bytes of arrays that any file may hold,
PACKED = 100  # or so many times its own size, if that is more


def refuse_bombs(parts: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Arrays that would take much more memory than their file, or are packed without a bound."""
    refuse_too_large(sum(part.file_size for part in parts), path)
    if any(part.compress_type not in PACKINGS for part in parts):
        raise DataError(f"{path}: packed in an unusual way. Write it with numpy.savez_compressed.")


def refuse_too_large(size: int, path: Path) -> None:
    """Arrays of so many bytes, if their file is much smaller."""
    most = max(UNPACKED, PACKED * path.stat().st_size)
    if size > most:
        raise DataError(
            f"{path}: its arrays would take {size / 2**20:,.0f} MB, more than {most / 2**20:,.0f} "
            "MB, which is the most for a file of its size. Write them uncompressed."
        )


def hdf5_sizes(group: Any) -> Iterator[int]:
    """What each array of an HDF5 group takes; one that lies in another file is refused."""
    from h5py import ExternalLink

    for name in group:
        node = None if isinstance(group.get(name, getlink=True), ExternalLink) else group[name]
        if node is None or getattr(node, "external", None) or getattr(node, "is_virtual", False):
            raise DataError(f"{group.file.filename}: '{name}' lies in another file. Give that one.")
        if hasattr(node, "keys"):
            yield from hdf5_sizes(node)
        elif getattr(node, "size", None):  # a type that has a name has none
            yield node.size * node.dtype.itemsize
