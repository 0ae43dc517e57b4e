"""A TensorBoard mirror of the Steps, under the catalogue's tags (Stable-Baselines3's names)."""

from __future__ import annotations

import time
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from steadyrl.core.records import Step
from steadyrl.core.signals import CATALOGUE


class TensorBoardMirror:
    """One event per Step that holds all of its signals; the x axis is environment steps."""

    def __init__(self, folder: Path) -> None:
        self._writer = EventFileWriter(str(folder), flush_secs=10)

    def append(self, step: Step) -> None:
        """Mirror one Step."""
        values = [
            Summary.Value(tag=CATALOGUE[name].tag, simple_value=value)
            for name, value in step.signals.items()
        ]
        summary = Summary(value=values)
        self._writer.add_event(Event(wall_time=time.time(), step=step.env_steps, summary=summary))

    def close(self) -> None:
        """Write what is pending and end the writer's thread."""
        self._writer.close()
