"""Reading a run: one directory, many readers.

config.yaml     complete and resolved          steps.jsonl    one Step per line
events.jsonl    changes, evaluations, ...      tensorboard/   mirror of the Steps
checkpoints/    see checkpoints.py             summary.json   how it ended
.lock           see lock.py                    abandoned-N.jsonl  left by the guard

Damage is reported, never cut away; nobody asks for the lock in order to read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from steadyrl.core.coarsen import Columns, Places
from steadyrl.core.errors import ConfigError, RunNotFound
from steadyrl.core.ordinary import read_json
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Change, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.core.yaml_text import read_yaml
from steadyrl.store.checkpoints import Checkpoints
from steadyrl.store.files import JsonLines
from steadyrl.store.intact import damage_problem, is_event, is_step, step_problems
from steadyrl.store.lock import WriterLock
from steadyrl.store.step_columns import StepColumns

DAMAGE = "damage"  # the event of a resume that found its record not intact


class RunReader:
    """A run's record: its settings, Steps, events and checkpoints, as they stand."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path, self.config = path, config
        self.checkpoints = Checkpoints(
            path / "checkpoints",
            keep=config.checkpoints.keep,
            keep_best=config.checkpoints.keep_best,
            scores=config.scores,
        )
        self._steps = JsonLines(path / "steps.jsonl", is_step)
        self._columns = StepColumns(path / "steps.jsonl")
        self._events = JsonLines(path / "events.jsonl", is_event)
        self._step_problems: list[str] = []  # as of the last reading to the end
        self._just_read = False  # and nobody asked for problems since
        self._lock = WriterLock(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing run."""
        file = path / "config.yaml"
        if not file.is_file():
            raise RunNotFound(f"{path}: no run here (there is no config.yaml).")
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: cannot be read as text: {error}.") from None
        return cls(path, parse_config(read_yaml(text, source=str(file)), source=str(file)))

    def taking_up(self, columns: StepColumns) -> Self:
        """The same, with Steps that were read before: only what is new of them is read."""
        self._columns = columns
        return self

    def steps(self) -> Iterator[Step]:
        """All intact Steps."""
        return (Step.from_json(record) for record in self.step_records())

    def step_count(self) -> int:
        """How many lines there are for Steps; what was read before is not read for it again."""
        return self._columns.lines()

    def step_records(self) -> Iterator[dict[str, Any]]:
        """All intact Steps as they stand in the file."""
        return iter(self._steps)

    def columns(self) -> Columns | None:
        """All intact Steps by signal, for who looks at the whole run; None if there is none."""
        last = self._last_known_step()  # asked for first: a run that is watched goes on meanwhile
        self._columns.renew()
        found = self._columns.columns()
        indices: Places = found.indices if found else np.empty(0, dtype=np.int64)
        damage = self._columns.damaged
        self._step_problems = [damage_problem("steps.jsonl", damage)] if damage else []
        self._step_problems += step_problems(indices, last)
        self._just_read = True
        return found

    def events(self) -> Iterator[dict[str, Any]]:
        """All intact events."""
        return iter(self._events)

    @property
    def problems(self) -> list[str]:
        """What is not intact in the files, in words; what a resume met with stays known."""
        met = [str(e.get("problem")) for e in self.events() if e["event"] == DAMAGE]
        return list(dict.fromkeys([*self._found_damage(), *met]))

    def config_in_force(self) -> RunConfig:
        """config.yaml with what was changed since: by a resume, a controller or the guard."""
        config = self.config
        for change in self.changes():
            config = config.changed(change.name, change.after)
        return config

    def changes(self) -> list[Change]:
        """The changes in force: the guard's going back undoes those made after its checkpoint."""
        found: list[Change] = []
        for event in self.events():
            if event["event"] == "action":
                found = [change for change in found if change.step <= event["step"]]
            elif event["event"] == "change":
                found.append(Change(**{name: v for name, v in event.items() if name != "event"}))
        return found

    def summary(self) -> dict[str, Any] | None:
        """What `write_summary` wrote last."""
        file = self.path / "summary.json"
        if not file.is_file():
            return None
        try:
            record = read_json(file)
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def _found_damage(self) -> list[str]:
        if not self._just_read:  # who judges has read it a moment ago
            self.columns()
        self._just_read = False
        deque(self._events, maxlen=0)
        damage = self._events.damaged
        events = [damage_problem("events.jsonl", damage)] if damage else []
        return [*self._step_problems, *events]

    def _last_known_step(self) -> int:
        """The Step that checkpoints and summary say was reached."""
        ended = (self.summary() or {}).get("steps")
        return max([*self.checkpoints.steps(), ended if isinstance(ended, int) else 0])
