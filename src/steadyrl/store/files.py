"""Writing that survives a crash: whole files appear at once, lines are appended one by one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from steadyrl.core.errors import DiskError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a full, read-only, forbidden or broken place into one clear sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        advice = "Choose another place, or mend this one."
        if error.errno in _FULL:
            advice = "What was written before is intact: free some space, then resume the run."
        raise DiskError(f"cannot write {path}: {reason}. {advice}") from None


def write_atomically(path: Path, content: bytes) -> None:
    """The file has its old content or the new one, never a part."""
    scratch = path.with_name(f".{path.name}.partial")
    with disk_errors(path):
        try:
            write_and_sync(scratch, content)
            os.replace(scratch, path)  # noqa: PTH105 - atomic, as the name of this function says
        finally:
            scratch.unlink(missing_ok=True)


def write_json(path: Path, record: Any) -> None:
    """A record that people may read, all of it or nothing."""
    write_atomically(path, json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


def write_and_sync(path: Path, content: bytes) -> None:
    """Write and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make renames inside the folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class JsonLines:
    """An append-only file of JSON objects, one per line. A torn last line is dropped on reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: Any = None

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; it reaches the operating system before this returns."""
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with disk_errors(self.path):
            if self._file is None:
                self._repair()
                self._file = self.path.open("ab", buffering=0)
            written = self._file.write(line)
            if written != len(line):  # the disk took a part: leave no torn line behind
                os.truncate(self.path, self.path.stat().st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Wait until the disk has all lines."""
        if self._file is not None:
            with disk_errors(self.path):
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _, record in self._complete_lines():
            yield record

    def count(self) -> int:
        """Roughly how many lines there are: torn ones and bad ones are counted too."""
        if not self.path.exists():
            return 0
        with self.path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))

    def keep_while(self, wanted: Any) -> None:
        """Cut the file before the first record for which `wanted(record)` is false."""
        self.close()
        end = 0
        for line_end, record in self._complete_lines():
            if not wanted(record):
                break
            end = line_end
        if self.path.exists():
            os.truncate(self.path, end)

    def keep_first(self, count: int) -> None:
        """Cut the file after its first `count` records."""
        left = iter(range(count))
        self.keep_while(lambda _record: next(left, None) is not None)

    def _repair(self) -> None:
        """Drop a torn last line, so that the next line does not grow onto it."""
        if self.path.exists():
            end = 0
            for end, _ in self._complete_lines():  # noqa: B007 - the last end is what counts
                pass
            os.truncate(self.path, end)

    def _complete_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if not self.path.exists():
            return
        end = 0
        with self.path.open("rb") as file:
            for line in file:
                end += len(line)
                if not line.endswith(b"\n"):
                    return
                try:
                    record = orjson.loads(line)
                except ValueError:
                    return
                yield end, record
