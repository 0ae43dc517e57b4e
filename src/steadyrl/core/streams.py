"""Standard streams that a long command can rely on, whatever becomes of their other ends."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise OutputLost(
                f"stdout takes no more: {error.strerror}. What the command did is done; only what "
                "it has to say of it is lost."
            ) from None


class _Unheard(io.FileIO):
    """Stderr: work does not end because nobody can hear how it goes."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


@contextmanager
def lasting_streams() -> Iterator[None]:
    """Training goes on if `tee` ends, its terminal is closed or the disk of its log is full.

    Streams that somebody else has put in their places are left alone.
    """
    _fill_gaps()
    before = sys.stdout, sys.stderr
    if before[0] is sys.__stdout__:
        sys.stdout = _around(_Heard, 1, before[0])
    if before[1] is sys.__stderr__:
        sys.stderr = _around(_Unheard, 2, before[1])
    try:
        yield
    finally:
        for stream in {sys.stdout, sys.stderr}.difference(before):
            stream.flush()
        sys.stdout, sys.stderr = before


def _fill_gaps() -> None:
    """Nothing is closed: or the next file to be opened would be what a C library complains into."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


def _around(kind: type[io.FileIO], number: int, usual: TextIO | None) -> TextIO:
    raw = kind(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=usual.encoding if usual else "utf-8",
        errors=usual.errors if usual else "replace",
        line_buffering=number == 2 or raw.isatty(),
    )
