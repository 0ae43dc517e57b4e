"""One run, one directory.

config.yaml     complete and resolved          steps.jsonl    one Step per line
events.jsonl    changes, evaluations, ...      tensorboard/   mirror of the Steps
checkpoints/    see checkpoints.py             summary.json   how it ended
.lock           see lock.py                    abandoned-N.jsonl  left by the guard
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadyrl.core.config import read_yaml
from steadyrl.core.errors import ConfigError, RunNotFound, StoreError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Change, RunSummary, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.store.checkpoints import Checkpoints
from steadyrl.store.files import JsonLines, disk_errors, write_atomically
from steadyrl.store.intact import damage_problem, is_event, is_step, step_problems
from steadyrl.store.lock import WriterLock

if TYPE_CHECKING:
    from steadyrl.store.tensorboard import TensorBoardMirror


DAMAGE = "damage"  # the event of a resume that found its record not intact


class RunDirectory:
    """Reads and writes a run's files. JSONL is the truth; TensorBoard is a mirror of it."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path, self.config = path, config
        self._mirrored = config.mirrored
        self.checkpoints = Checkpoints(path / "checkpoints", keep=config.checkpoints.keep)
        self._steps = JsonLines(path / "steps.jsonl", is_step)
        self._events = JsonLines(path / "events.jsonl", is_event)
        self._step_problems: list[str] | None = None  # as of the last reading to the end
        self._mirror: TensorBoardMirror | None = None
        self._lock = WriterLock(path)

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunDirectory:
        """A new, empty run, to write in until it is closed; refuses a folder that holds one."""
        store = cls(path, config)
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        store._lock.acquire()
        try:
            if (path / "config.yaml").exists():
                raise StoreError(
                    f"{path}: there is a run here already. Continue it with --resume {path}, "
                    "or choose another --name."
                )
            store.write_config(config)
        except BaseException:
            store._lock.release()
            raise
        return store

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run, to read."""
        file = path / "config.yaml"
        if not file.is_file():
            raise RunNotFound(f"{path}: no run here (there is no config.yaml).")
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: cannot be read as text: {error}.") from None
        return cls(path, parse_config(read_yaml(text, source=str(file)), source=str(file)))

    @classmethod
    def open_to_write(cls, path: Path) -> RunDirectory:
        """An existing run, to write in until it is closed; refused while another does."""
        store = cls.open(path)
        store._lock.acquire()
        return store

    def write_config(self, config: RunConfig) -> None:
        """The settings that the run is recorded under."""
        write_atomically(self.path / "config.yaml", config.to_yaml().encode())
        self.config = config

    def append_step(self, step: Step) -> None:
        """Record a Step, and as an event the evaluation it may carry."""
        self._steps.append(step.to_json())
        if "eval.return_mean" in step.signals:
            found = {
                name: v for name, v in step.to_json()["signals"].items() if name[:5] == "eval."
            }
            self.append_event("evaluation", step.index, taken=step.taken, **found)
        if self._mirror is None:
            self._mirror_anew()
        else:
            self._mirror.append(step)

    def append_event(self, kind: str, step: int, **details: Any) -> None:
        """Record something that happened at a Step."""
        self._events.append({"event": kind, "step": step, **details})

    def steps(self) -> Iterator[Step]:
        """All intact Steps."""
        return (Step.from_json(record) for record in self.step_records())

    def step_count(self) -> int:
        """About how many Steps there are, without reading them."""
        return self._steps.count()

    def step_records(self) -> Iterator[dict[str, Any]]:
        """All intact Steps as they stand in the file: for readers of very long runs."""
        last = self._last_known_step()  # asked for first: a run that is watched goes on meanwhile
        indices = []
        for record in self._steps:
            indices.append(record["index"])
            yield record
        damage = self._steps.damaged
        self._step_problems = [damage_problem("steps.jsonl", damage)] if damage else []
        self._step_problems += step_problems(indices, last)

    def events(self) -> Iterator[dict[str, Any]]:
        """All intact events."""
        return iter(self._events)

    @property
    def problems(self) -> list[str]:
        """What is not intact in the files, in words; what a resume met with stays known."""
        met = [str(e.get("problem")) for e in self.events() if e["event"] == DAMAGE]
        return list(dict.fromkeys([*self._found_damage(), *met]))

    @property
    def deserted(self) -> bool:
        """Whether its writer is known to be gone, with or without having written an end."""
        return self._lock.deserted

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

    # Both ways back begin with the checkpoints, newest first: wherever a kill comes, the newest one
    # left has all its Steps, and what is redone from it is the same.

    def rewind(self, step: int, *, events: int, returns: int) -> list[str]:
        """Forget what came after a checkpoint: the run continues from there and will redo it.

        The checkpoint knew so many events and so many returns of the guard. Returns what is not
        intact in what came before, in words.
        """
        self.checkpoints.drop_after(step)
        with disk_errors(self.path):
            (self.path / "summary.json").unlink(missing_ok=True)  # it goes on: it has no end yet
            while (aside := self._abandoned(returns + 1)).exists():
                aside.unlink()
                returns += 1
        self._keep_steps(step)
        lacking = events - self._events.count()
        self._events.keep_first(events)
        self._mirror_anew()
        lost = [f"events.jsonl: {lacking:,} of {events:,} lines are missing"] if lacking > 0 else []
        return [*self._found_damage(), *lost]

    def abandon(self, step: int, *, returns: int) -> None:
        """Set aside the Steps after a checkpoint: the run goes another way, for the n-th time."""
        self.checkpoints.drop_after(step)
        later = self._steps.rest(lambda record: record["index"] <= step)
        write_atomically(self._abandoned(returns), later)
        self._keep_steps(step)
        self._mirror_anew()

    def save_checkpoint(self, state: dict[str, Any], *, step: int, good: bool) -> None:
        """Checkpoint, after making sure that the Steps before it are on disk."""
        self._steps.sync()
        self._events.sync()
        self.checkpoints.save({**state, "events": self._events.count()}, step=step, good=good)

    def write_summary(self, summary: RunSummary) -> None:
        """How the run stands or ended."""
        text = json.dumps(summary.to_json(), indent=2, allow_nan=False)
        write_atomically(self.path / "summary.json", text.encode() + b"\n")

    def summary(self) -> dict[str, Any] | None:
        """What `write_summary` wrote last."""
        file = self.path / "summary.json"
        if not file.is_file():
            return None
        try:
            record = json.loads(file.read_text("utf-8"))
        except ValueError:
            return None
        return record if isinstance(record, dict) else None

    def close(self) -> None:
        """Let go of all files, and let others write."""
        try:
            self._steps.close()
            self._events.close()
            self._close_mirror()
        finally:
            self._lock.release()

    def _mirror_anew(self) -> None:
        """Show the Steps that stand, and nothing else."""
        self._close_mirror()
        if self._mirrored:
            # Imported here: reading a run must not wait for TensorBoard.
            from steadyrl.store.tensorboard import TensorBoardMirror

            with disk_errors(self.path):
                self._mirror = TensorBoardMirror(self.path / "tensorboard", list(self.steps()))

    def _close_mirror(self) -> None:
        if self._mirror is not None:
            self._mirror.close()
            self._mirror = None

    def _abandoned(self, number: int) -> Path:
        return self.path / f"abandoned-{number}.jsonl"

    def _keep_steps(self, last: int) -> None:
        self._steps.keep(lambda record: record["index"] <= last)
        self._step_problems = None

    def _found_damage(self) -> list[str]:
        if self._step_problems is None:
            deque(self.step_records(), maxlen=0)
        deque(self._events, maxlen=0)
        damage = self._events.damaged
        events = [damage_problem("events.jsonl", damage)] if damage else []
        return [*(self._step_problems or ()), *events]

    def _last_known_step(self) -> int:
        """The Step that checkpoints and summary say was reached."""
        ended = (self.summary() or {}).get("steps")
        return max([*self.checkpoints.steps(), ended if isinstance(ended, int) else 0])


def claim_run_path(path: Path) -> Path:
    """The first of path, path-2, path-3 ... that is free, as a folder: no other will take it."""
    candidate, number = path, 1
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                candidate.mkdir()
            except FileExistsError:
                number += 1
                candidate = path.with_name(f"{path.name}-{number}")
            else:
                return candidate
