"""Reading a file of JSON lines that grows: each look reads only what is new.

For live views, `--watch` and progress. A file that was cut back or replaced since the last look is
noticed, and whoever follows it begins anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

MARK = 64  # bytes before the position that must still be there


class Tail:
    """A position in a file of JSON lines, behind the last whole line that was read."""

    def __init__(self, path: Path, is_record: Callable[[Any], bool]) -> None:
        self.path, self._is_record = path, is_record
        self._position, self._inode, self._mark = 0, 0, b""

    def new(self) -> tuple[list[dict[str, Any]], bool]:
        """Records since the last look, and whether all before them must be forgotten."""
        try:
            with self.path.open("rb") as file:
                rewound = self._is_another(file)
                if rewound:
                    self._position = 0
                file.seek(self._position)
                content = file.read()
        except FileNotFoundError:
            rewound, content = self._position > 0, b""
            self._position = 0
        whole = content[: content.rfind(b"\n") + 1]  # the last line may still be being written
        self._position += len(whole)
        if whole:
            self._mark = whole[-MARK:]
        return [record for line in whole.splitlines() if (record := self._read(line))], rewound

    def _is_another(self, file: Any) -> bool:
        """Whether it is no longer the file, or no longer has the content, that was read."""
        inode = os.fstat(file.fileno()).st_ino
        known, self._inode = self._inode, inode
        if self._position == 0:
            return False
        file.seek(max(0, self._position - len(self._mark)))
        return inode != known or file.read(len(self._mark)) != self._mark

    def _read(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = orjson.loads(line)
        except ValueError:
            return None
        return record if self._is_record(record) else None
