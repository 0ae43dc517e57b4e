"""Lines of a file, one by one, of which none may fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from steadyrl.core.errors import StoreError
from steadyrl.core.ordinary import open_ordinary

LONGEST = 16 << 20  # bytes of a line that is read; no Step or event comes near it


def open_lines(path: Path) -> BinaryIO:
    """A record, to be read; one that is there and cannot be is refused in words."""
    try:
        return open_ordinary(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}.") from None


def bounded_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its size; None in the place of one that is too long to be read."""
    while line := file.readline(LONGEST):
        size = len(line)
        if size < LONGEST or line.endswith(b"\n"):
            yield size, line
            continue
        while rest := file.readline(LONGEST):
            size += len(rest)
            if rest.endswith(b"\n"):
                break
        yield size, None
