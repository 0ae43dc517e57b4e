"""One writer per run: it holds a lock for as long as it writes, and leaves word who it is.

The lock is the operating system's, so one that was killed holds nothing. Readers never ask for it:
they might turn away a writer that comes at that moment. They go by the writer's word.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from steadyrl.core.errors import StoreError
from steadyrl.core.ordinary import read_json
from steadyrl.store.files import disk_errors, write_json

if TYPE_CHECKING:
    from filelock import BaseFileLock


class WriterLock:
    """The right to write in a run's folder, held between `acquire` and `release`."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._lock: BaseFileLock | None = None
        self._word = run / ".writer.json"  # apart from the lock, which others open to try it

    def acquire(self) -> None:
        """Take it at once, or say who has it."""
        from filelock import FileLock, Timeout  # here: readers have no need of it

        # Whoever closes a run may be another thread than the one that began it.
        self._lock = self._lock or FileLock(self._run / ".lock", timeout=0, thread_local=False)
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
        if self._lock is not None:
            self._lock.release()

    @property
    def deserted(self) -> bool:
        """Whether the last writer is known to be gone: a process of this machine that has ended."""
        try:
            word = read_json(self._word)
            since = datetime.fromisoformat(word["since"]).timestamp()
            return word["host"] == socket.gethostname() and _has_ended(word["pid"], since)
        except (OSError, ValueError, KeyError, TypeError):
            return False

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
            word = read_json(self._word)
            return f"process {word['pid']} on {word['host']} (since {word['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"  # which has only just begun


def _has_ended(number: int, since: float) -> bool:
    """Whether the process that had this number then is gone; if that cannot be told, it is not."""
    import psutil  # here: few who read a run find such a word

    try:
        # A process begun after that word is another one, with the number of the first.
        return bool(psutil.Process(number).create_time() > since + 1.0)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
