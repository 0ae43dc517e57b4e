"""One writer per run: it holds a lock for as long as it writes, and leaves word who it is.

The lock is the operating system's, so one that was killed holds nothing. Readers never ask.
"""

from __future__ import annotations

import json
import os
import socket
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from steadyrl.core.errors import StoreError
from steadyrl.store.files import disk_errors, write_json


class WriterLock:
    """The right to write in a run's folder, held between `acquire` and `release`."""

    def __init__(self, run: Path) -> None:
        self._run = run
        # Whoever closes a run may be another thread than the one that began it.
        self._lock = FileLock(run / ".lock", timeout=0, thread_local=False)
        self._word = run / ".writer.json"  # apart from the lock, which others open to try it

    def acquire(self) -> None:
        """Take it at once, or say who has it."""
        with disk_errors(self._run):
            try:
                self._lock.acquire()
            except Timeout:  # an OSError of filelock's
                raise StoreError(
                    f"{self._run}: {self._holder()} is writing this run, and two would spoil it. "
                    "Wait until it ends or stop it, or choose another --name; looking is safe."
                ) from None
        try:
            write_json(
                self._word,
                {
                    "pid": os.getpid(),
                    "host": socket.gethostname(),
                    "since": datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
                },
            )
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others write; to release it twice is to release it."""
        self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _holder(self) -> str:
        try:
            word = json.loads(self._word.read_text("utf-8"))
            return f"process {word['pid']} on {word['host']} (since {word['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"  # which has only just begun
