"""Writing a run: one writer at a time, in an order that survives a kill at any moment.

JSONL is the truth; TensorBoard is a mirror of it, for those who have it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from steadyrl.core.errors import DiskError, StoreError
from steadyrl.core.records import RunSummary, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.store.files import disk_errors, write_atomically
from steadyrl.store.reader import RunReader

if TYPE_CHECKING:
    from steadyrl.store.tensorboard import TensorBoardMirror


def mirror_missing() -> str:
    """Why TensorBoard's files are not written, if they are not."""
    if find_spec("tensorboard") is not None:
        return ""
    return (
        "TensorBoard is not installed, so its files are not written (all signals are in "
        "steps.jsonl). For them: pip install 'steadyrl[tensorboard]'"
    )


class RunWriter(RunReader):
    """The one who may write: it holds the run's lock until it is closed."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        super().__init__(path, config)
        self._mirror: TensorBoardMirror | None = None
        self.seconds_writing = 0.0  # what Steps, events and checkpoints waited for the disk

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> Self:
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
    def open(cls, path: Path) -> Self:
        """An existing run, to write in until it is closed; refused while another does."""
        store = super().open(path)
        store._lock.acquire()
        return store

    @contextmanager
    def begins(self) -> Iterator[None]:
        """Until the first checkpoint: if that cannot be written, the folder is free again.

        There would be nothing to resume, and another start would be refused.
        """
        steps, events = self._steps.count(), self._events.count()
        try:
            yield
        except BaseException:
            with suppress(DiskError, OSError):  # why it cannot be written is told already
                self._steps.keep_first(steps)
                self._events.keep_first(events)
                (self.path / "config.yaml").unlink(missing_ok=True)
            raise

    def write_config(self, config: RunConfig) -> None:
        """The settings that the run is recorded under."""
        write_atomically(self.path / "config.yaml", config.to_yaml().encode())
        self.config = config

    def append_step(self, step: Step) -> None:
        """Record a Step, and as an event the evaluation it may carry."""
        with self._timed():
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
        with self._timed():
            self._events.append({"event": kind, "step": step, **details})

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds_writing += time.perf_counter() - began

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

    def save_checkpoint(
        self,
        state: dict[str, Any],
        *,
        step: int,
        good: bool,
        measured: Mapping[str, float] | None = None,
    ) -> None:
        """Checkpoint, after making sure that the Steps before it are on disk."""
        with self._timed():
            self._steps.sync()
            self._events.sync()
            whole = {**state, "events": self._events.count()}
            self.checkpoints.save(whole, step=step, good=good, measured=measured)

    def write_summary(self, summary: RunSummary) -> None:
        """How the run stands or ended."""
        text = json.dumps(summary.to_json(), indent=2, allow_nan=False)
        write_atomically(self.path / "summary.json", text.encode() + b"\n")

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
        if self.config.mirrored and not mirror_missing():
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
