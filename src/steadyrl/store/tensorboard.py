"""A TensorBoard mirror of the Steps, under the catalogue's tags (Stable-Baselines3's names)."""

from __future__ import annotations

import itertools
import os
import socket
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE
from steadyrl.store.files import disk_errors, gone

FLUSH_SECONDS = 10.0
VERSION = "brain.Event:2"


class TensorBoardMirror:
    """One event per Step that holds all of its signals; the x axis is the run's own unit.

    Written by this very thread: a writer that fails behind our back could only shout.
    """

    def __init__(self, folder: Path, past: Sequence[Step]) -> None:
        """Mirror the Steps that stand; what older files show is taken away."""
        outdated = list(folder.glob("*tfevents*"))
        folder.mkdir(exist_ok=True)
        self.path = _free(folder)
        self.path.touch()
        self._pending = BytesIO()  # since the last time; no file stays open for it
        self._records = RecordWriter(self._pending)
        now = time.time()
        self._write(Event(wall_time=now, file_version=VERSION))
        # A TensorBoard that is open forgets what it has shown, and shows what follows.
        forget = SessionLog(status=SessionLog.START)
        self._write(Event(wall_time=now, step=0, session_log=forget))
        began = now - (past[-1].seconds if past else 0.0)
        for step in past:
            self._add(step, began + step.seconds)
        self._flush()
        for file in outdated:
            _empty(file)

    def append(self, step: Step) -> None:
        """Mirror one Step."""
        with disk_errors(self.path):
            self._add(step, time.time())
            if time.monotonic() - self._flushed >= FLUSH_SECONDS:
                self._flush()

    def _add(self, step: Step, wall_time: float) -> None:
        values = [
            Summary.Value(tag=_tag(name), simple_value=value)
            for name, value in step.signals.items()
        ]
        summary = Summary(value=values)
        self._write(Event(wall_time=wall_time, step=step.taken, summary=summary))

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())

    def close(self) -> None:
        """Write what is pending."""
        with disk_errors(self.path):
            self._flush()

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if not self.path.exists():
            raise gone()
        with self.path.open("ab") as file:
            file.write(self._pending.getvalue())
        self._pending.seek(0)
        self._pending.truncate()


def _free(folder: Path) -> Path:
    """A name that TensorBoard knows for its own, and that sorts after older ones."""
    name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
    names = (folder / f"{name}.{number}" for number in itertools.count())
    return next(path for path in names if not path.exists())


def _empty(file: Path) -> None:
    """Not removed at once: a TensorBoard that is open would wait for this very file for ever."""
    if file.stat().st_size:
        os.truncate(file, 0)
    else:
        file.unlink()


def _tag(name: str) -> str:
    """A Step read back may hold a signal that is in the catalogue no more."""
    return CATALOGUE[name].tag if name in CATALOGUE else name
