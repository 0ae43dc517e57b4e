"""What was read and said of runs, kept between one start and the next.

One file in the user's cache folder, never in a run's own. It may be deleted at any time, is bounded
in size (whoever was not looked at for longest goes first), and a file that is damaged or cannot be
had only means that runs are read again.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from steadyrl.core.places import cache_folder

MOST = 2 << 30  # bytes
FILE = "runs.sqlite"
FORM = 3  # of what is kept: another one is begun anew
PATIENCE = 2.0  # seconds for another process to finish writing
_ANEW = (
    "DROP TABLE IF EXISTS kept",
    "DROP TABLE IF EXISTS used",
    "CREATE TABLE kept (run TEXT, part TEXT, stamp TEXT, content BLOB, PRIMARY KEY (run, part))",
    "CREATE TABLE used (run TEXT PRIMARY KEY, at REAL)",
    f"PRAGMA user_version = {FORM}",
)
T = TypeVar("T")


def usual() -> Kept:
    """That of this user."""
    return Kept(cache_folder() / FILE)


class Kept:
    """Parts of runs by name, each with the stamp of the files that it was made from."""

    def __init__(self, file: Path, most: int = MOST) -> None:
        self.file, self.most = file, most
        self._lock = threading.RLock()
        self._touched: set[str] = set()  # since this process began
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._opened()
        except sqlite3.DatabaseError:
            self._connection = self._anew()

    def get(self, run: str, part: str, stamp: str) -> bytes | None:
        """What was kept, if the files are still those it was made from."""
        found = self._read(run, part)
        return found[1] if found and found[0] == stamp else None

    def find(self, run: str, part: str) -> tuple[str, bytes] | None:
        """What was kept and its stamp, whatever has become of the files."""
        return self._read(run, part)

    def put(self, run: str, parts: dict[str, tuple[str, bytes]]) -> bool:
        """Keep some parts, all of them or none."""

        def write(connection: sqlite3.Connection) -> bool:
            with connection:
                rows = [(run, part, stamp, content) for part, (stamp, content) in parts.items()]
                connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows)
                connection.execute("INSERT OR REPLACE INTO used VALUES (?, ?)", (run, time.time()))
            return self._make_room(connection, run)

        return bool(self._tried(write, False))

    def forget(self, run: str, beginning: str) -> None:
        """Let go of a run's parts whose names begin so."""

        def drop(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute(
                    "DELETE FROM kept WHERE run = ? AND substr(part, 1, ?) = ?",
                    (run, len(beginning), beginning),
                )

        self._tried(drop, None)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        """Nobody holds it any more; from Python 3.13 on a file that stays open is warned of."""
        self.close()

    def _read(self, run: str, part: str) -> tuple[str, bytes] | None:
        def look(connection: sqlite3.Connection) -> tuple[str, bytes] | None:
            asked = "SELECT stamp, content FROM kept WHERE run = ? AND part = ?"
            found: tuple[str, bytes] | None = connection.execute(asked, (run, part)).fetchone()
            if found and run not in self._touched:
                self._touched.add(run)
                with suppress(sqlite3.OperationalError), connection:  # read all the same
                    connection.execute("UPDATE used SET at = ? WHERE run = ?", (time.time(), run))
            return found

        return self._tried(look, None)

    def _tried(self, act: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """A cache that cannot be had is no cache: nobody waits for it, nothing fails."""
        with self._lock:
            if self._connection is None:
                return otherwise
            try:
                return act(self._connection)
            except sqlite3.OperationalError:  # busy, full, read-only: perhaps not the next time
                return otherwise
            except sqlite3.DatabaseError:  # damaged
                self._connection.close()
                self._connection = self._anew()
                return otherwise

    def _make_room(self, connection: sqlite3.Connection, keep: str) -> bool:
        """Let the oldest runs go; says whether there is room for this one at all."""
        while self._size(connection) > self.most:
            oldest = "SELECT run FROM used WHERE run != ? ORDER BY at LIMIT 1"
            found = connection.execute(oldest, (keep,)).fetchone() or (keep,)
            with connection:
                connection.execute("DELETE FROM kept WHERE run = ?", found)
                connection.execute("DELETE FROM used WHERE run = ?", found)
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            if found == (keep,):
                return False
        return True

    def _size(self, connection: sqlite3.Connection) -> int:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _opened(self) -> sqlite3.Connection | None:
        """The file, ready for use; None if it cannot be had now. Raises if it is damaged."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = sqlite3.connect(self.file, timeout=PATIENCE, check_same_thread=False)
        except (OSError, sqlite3.Error):
            return None
        try:
            if _form(connection) != FORM:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                with connection:
                    connection.execute("BEGIN EXCLUSIVE")
                    for statement in _ANEW if _form(connection) != FORM else ():
                        connection.execute(statement)
        except sqlite3.OperationalError:  # somebody writes: it is theirs
            connection.close()
            return None
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _anew(self) -> sqlite3.Connection | None:
        """In the place of one that is damaged."""
        try:
            self.file.unlink(missing_ok=True)
            return self._opened()
        except (OSError, sqlite3.DatabaseError):
            return None


def _form(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def key_of(path: Path) -> str:
    """The name of a run in the cache: it says nothing of the disk."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()


@cache
def made_by() -> str:
    """Which program says what is kept: another version of a rule may say something else."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.suffix in (".py", ".yaml", ".csv", ".json"):
            about = file.stat()
            name = file.relative_to(root)
            found.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return found.hexdigest()
