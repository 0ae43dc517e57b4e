"""Reading a file of JSON lines that grows: each look reads only what is new.

For live views, `--watch` and progress. A file that was cut back or replaced since the last look is
noticed, and whoever follows it begins anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from steadyrl.store.lines import LONGEST, open_lines

MARK = 64  # bytes before the position that must still be there
BLOCK = 1 << 20  # bytes that are read at a time: few enough to stay near the processor


@dataclass(frozen=True, slots=True)
class Place:
    """How far a file was read: a byte, the file it is in, and what stands before it."""

    position: int = 0
    inode: int = 0
    mark: bytes = b""
    inside: bool = False  # of a line that is too long to be read


class Tail:
    """A position in a file of JSON lines, behind the last whole line that was read."""

    def __init__(
        self, path: Path, is_record: Callable[[Any], bool], place: Place | None = None
    ) -> None:
        self.path, self._is_record = path, is_record
        self.place = place or Place()
        self.rest = b""  # a last line that had no end yet when it was read

    def new(self) -> tuple[list[dict[str, Any]], bool]:
        """Records since the last look, and whether all before them must be forgotten."""
        rewound = self.rewind()
        lines = (line for block in self.blocks() for line in block.split(b"\n"))
        return [record for line in lines if (record := self._read(line))], rewound

    def rewind(self) -> bool:
        """Go back to the beginning of a file that is not the one, or not as it was, when read."""
        try:
            with open_lines(self.path) as file:
                another = self._is_another(file)
        except FileNotFoundError:
            another = self.place.position > 0
        if another:
            self.place = Place()
        return another

    def blocks(self) -> Iterator[bytes]:
        """Whole lines since the last look, many at a time; none where one is too long to be read.

        Such a line leaves an empty one, so that it can be counted.
        """
        self.rest = b""
        try:
            file = open_lines(self.path)
        except FileNotFoundError:
            return
        with file:
            file.seek(self.place.position)
            inode, held = os.fstat(file.fileno()).st_ino, b""
            while read := file.read(BLOCK):
                held += read
                end = held.rfind(b"\n") + 1
                inside = self.place.inside
                if not end and len(held) <= LONGEST and not inside:
                    continue
                whole, held = (held[:end], held[end:]) if end else (held, b"")
                mark = (self.place.mark + whole)[-MARK:]
                self.place = Place(self.place.position + len(whole), inode, mark, not end)
                if end:
                    yield whole[whole.index(b"\n") :] if inside else whole
            self.rest = b"" if self.place.inside else held

    def ends_ahead(self) -> int:
        """How many lines end behind the place, without reading them."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.place.position)
                return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))
        except FileNotFoundError:
            return 0

    def _is_another(self, file: BinaryIO) -> bool:
        """Whether it is no longer the file, or no longer has the content, that was read."""
        place = self.place
        if place.position == 0:
            return False
        file.seek(max(0, place.position - len(place.mark)))
        return (
            os.fstat(file.fileno()).st_ino != place.inode
            or file.read(len(place.mark)) != place.mark
        )

    def _read(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = orjson.loads(line)
        except ValueError:
            return None
        return record if self._is_record(record) else None
