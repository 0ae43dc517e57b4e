"""Lines of a file, one by one, of which none may fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

LONGEST = 16 << 20  # bytes of a line that is read; no Step or event comes near it


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
