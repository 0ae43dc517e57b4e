"""Standard streams that a long command can rely on, whatever becomes of their other ends."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from steadyrl.core.errors import OutputLost


class _Heard(io.FileIO):
    """Stdout: results are for somebody, who must know that they are lost. A reader may leave."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            # What is still to be said would fail as well, and hide this.
            to_nowhere(self.fileno())
            raise OutputLost(
                f"stdout takes no more: {error.strerror}. What was to be printed is lost; runs and "
                "reports are in their files."
            ) from None


class _Unheard(io.FileIO):
    """Stderr: work does not end because nobody can hear how it goes."""

    def write(self, data: Any, /) -> int:
        try:
            written: int | None = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Training goes on if `tee` ends, its terminal is closed or the disk of its log is full.

    Streams that somebody else has put in their places are left alone, as are those of Windows,
    whose console is no file.
    """
    if os.name == "nt":
        yield
        return
    _fill_gaps()
    before = sys.stdout, sys.stderr
    for stream in before:
        _flush(stream)
    if before[0] is sys.__stdout__:
        sys.stdout = _around(_Heard, 1, before[0])
    if before[1] is sys.__stderr__:
        sys.stderr = _around(_Unheard, 2, before[1])
    try:
        yield
    finally:
        for stream in {sys.stdout, sys.stderr}.difference(before):
            _flush(stream)  # who wants to know whether stdout was written flushes it before
        sys.stdout, sys.stderr = before


def to_nowhere(number: int) -> None:
    """What is written to this descriptor from now on is not kept."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _flush(stream: TextIO | None) -> None:
    if stream is not None:
        with suppress(OSError, ValueError, OutputLost):
            stream.flush()


def _fill_gaps() -> None:
    """Nothing is closed: or the next file to be opened would be what a C library complains into."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)  # nor is it in a child
    os.close(opened)


def _around(kind: type[io.FileIO], number: int, usual: TextIO | None) -> TextIO:
    raw = kind(number, "w", closefd=False)
    at_once = isinstance(usual, io.TextIOWrapper) and (usual.line_buffering or usual.write_through)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=usual.encoding if usual else "utf-8",
        errors=usual.errors if usual else "replace",
        line_buffering=at_once or number == 2,
    )
