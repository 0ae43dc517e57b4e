"""Work that goes on when nobody hears what it says any more."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

GONE = (errno.EPIPE, errno.EIO)  # a reader that ended, a terminal that was closed


class _Unheard(io.FileIO):
    """A file whose other end may go away: from then on nothing is written."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in GONE:
                raise
            return len(data)


@contextmanager
def unheard() -> Iterator[None]:
    """A training does not end because `tee` did, or the terminal it was started from.

    Only what is said on stderr: results on stdout are for somebody, who wants to know that they are
    lost. Leaves a stderr alone that somebody else has put there.
    """
    usual, own = sys.stderr, sys.__stderr__
    if own is None or usual is not own:
        yield
        return
    raw = _Unheard(own.fileno(), "w", closefd=False)
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=own.encoding,
        errors=own.errors,
        line_buffering=True,
    )
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = usual
