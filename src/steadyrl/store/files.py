"""Writing that survives a crash: whole files appear at once, lines are appended one by one."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from steadyrl.core.errors import ConfigError, DiskError
from steadyrl.core.ordinary import read_json
from steadyrl.store.lines import bounded_lines, open_lines

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
            advice = "What was written before is intact: free some space, then try again."
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


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which appears under its name when it is complete, or not at all."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not empty: give a new folder for the model.")
    with disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            made = Path(scratch) / "new"
            made.mkdir()
            yield made
            shutil.rmtree(folder, ignore_errors=True)  # an empty one
            made.replace(folder)


def sync_folder(path: Path) -> None:
    """Make renames inside the folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def gone() -> OSError:
    """Why a file that is being written cannot be written any more."""
    return OSError(errno.ENOENT, "it was removed or moved away while it was being written")


class JsonLines:
    """An append-only file of JSON objects, one per line.

    A line that cannot be read is passed over and counted; what follows it is read all the same. A
    last line without its end is still being written or was cut off: it counts if it is whole.
    """

    def __init__(
        self, path: Path, is_record: Callable[[Any], bool] = lambda found: isinstance(found, dict)
    ) -> None:
        self.path, self._is_record = path, is_record
        self.damaged = 0  # lines that the last reading to the end passed over
        self._file: Any = None

    def append(self, record: dict[str, Any]) -> None:
        """Add one line; it reaches the operating system before this returns."""
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with disk_errors(self.path):
            if self._file is None:
                self._end_the_last_line()
                self._file = self.path.open("ab", buffering=0)
            self._refuse_if_gone()
            written = self._file.write(line)
            if written != len(line):  # the disk took a part: leave no torn line behind
                os.truncate(self.path, self.path.stat().st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _refuse_if_gone(self) -> None:
        """Lines written to a file that nobody can find any more would be lost without a word."""
        try:
            same = os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise gone()

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
        damaged = 0
        for _, record in self._lines():
            if record is None:
                damaged += 1
            else:
                yield record
        self.damaged = damaged

    def count(self) -> int:
        """How many lines there are, damaged ones too, without reading them."""
        if not self.path.exists():
            return 0
        with open_lines(self.path) as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))

    def rest(self, wanted: Callable[[dict[str, Any]], bool]) -> bytes:
        """What `keep` would cut away, as it stands in the file."""
        if not self.path.exists():
            return b""
        with open_lines(self.path) as file:
            file.seek(self._end_of_last(wanted))
            return file.read()

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Cut the file after the last record for which `wanted(record)` is true."""
        self._cut(self._end_of_last(wanted))

    def keep_first(self, count: int) -> None:
        """Cut the file after its first `count` lines; damaged ones count, so that none shifts."""
        ends = [end for end, _ in itertools.islice(self._lines(), count)]
        self._cut(ends[-1] if ends else 0)

    def _cut(self, end: int) -> None:
        self.close()
        if self.path.exists():
            with disk_errors(self.path):
                os.truncate(self.path, end)

    def _end_of_last(self, wanted: Callable[[dict[str, Any]], bool]) -> int:
        ends = (end for end, record in self._lines() if record is not None and wanted(record))
        return max(ends, default=0)

    def _end_the_last_line(self) -> None:
        """The next line must not grow onto the last one: end that, or cut it if it is torn."""
        if not self.path.exists():
            return
        size, last = 0, b"\n"
        with open_lines(self.path) as file:
            for last in file:
                size += len(last)
        if last.endswith(b"\n"):
            return
        if self._read(last) is None:
            os.truncate(self.path, size - len(last))
        else:
            with self.path.open("ab") as file:
                file.write(b"\n")

    def _lines(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """Where each line ends, and its record; None if it cannot be read."""
        if not self.path.exists():
            return
        end = 0
        with open_lines(self.path) as file:
            for size, line in bounded_lines(file):
                end += size
                record = None if line is None else self._read(line)
                if record is None and line is not None and not line.endswith(b"\n"):
                    return
                yield end, record

    def _read(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = orjson.loads(line)
        except ValueError:
            return None
        return record if self._is_record(record) else None


def holds_keys(file: Path, *names: str) -> bool:
    """Whether a file is a JSON object with all of these names."""
    if file.suffix != ".json" or not file.is_file():
        return False
    try:
        found = read_json(file)
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and set(names) <= found.keys()
