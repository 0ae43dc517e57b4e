"""A TensorBoard mirror of the Steps, under the catalogue's tags (Stable-Baselines3's names)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE


class TensorBoardMirror:
    """One event per Step that holds all of its signals; the x axis is environment steps."""

    def __init__(self, folder: Path, past: Sequence[Step]) -> None:
        """Mirror the Steps that stand; what older files show is taken away."""
        outdated = list(folder.glob("*tfevents*"))
        self._writer = EventFileWriter(str(folder), flush_secs=10)
        # A TensorBoard that is open forgets what it has shown, and shows what follows.
        forget = SessionLog(status=SessionLog.START)
        self._writer.add_event(Event(wall_time=time.time(), step=0, session_log=forget))
        began = time.time() - (past[-1].seconds if past else 0.0)
        for step in past:
            self._add(step, began + step.seconds)
        self._writer.flush()
        for file in outdated:
            _empty(file)

    def append(self, step: Step) -> None:
        """Mirror one Step."""
        self._add(step, time.time())

    def _add(self, step: Step, wall_time: float) -> None:
        values = [
            Summary.Value(tag=_tag(name), simple_value=value)
            for name, value in step.signals.items()
        ]
        summary = Summary(value=values)
        self._writer.add_event(Event(wall_time=wall_time, step=step.taken, summary=summary))

    def close(self) -> None:
        """Write what is pending and end the writer's thread."""
        self._writer.close()


def _empty(file: Path) -> None:
    """Not removed at once: a TensorBoard that is open would wait for this very file for ever."""
    if file.stat().st_size:
        os.truncate(file, 0)
    else:
        file.unlink()


def _tag(name: str) -> str:
    """A Step read back may hold a signal that is in the catalogue no more."""
    return CATALOGUE[name].tag if name in CATALOGUE else name
