"""One run, one directory.

config.yaml     complete and resolved          steps.jsonl    one Step per line
events.jsonl    changes, evaluations, ...      tensorboard/   mirror of the Steps
checkpoints/    see checkpoints.py             summary.json   how it ended
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadyrl.core.config import read_yaml
from steadyrl.core.configs import parse_config
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.errors import ConfigError, RunNotFound, StoreError
from steadyrl.core.records import RunSummary, Step
from steadyrl.store.checkpoints import Checkpoints
from steadyrl.store.files import JsonLines, disk_errors, write_atomically

if TYPE_CHECKING:
    from steadyrl.store.tensorboard import TensorBoardMirror


class RunDirectory:
    """Reads and writes a run's files. JSONL is the truth; TensorBoard is a mirror of it."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self.path, self.config = path, config
        self._mirrored = config.algorithm != "foreign"  # others keep a TensorBoard of their own
        self.checkpoints = Checkpoints(path / "checkpoints", keep=config.checkpoints.keep)
        self._steps = JsonLines(path / "steps.jsonl")
        self._events = JsonLines(path / "events.jsonl")
        self._mirror: TensorBoardMirror | None = None

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunDirectory:
        """A new, empty run; refuses a folder that already holds one."""
        if (path / "config.yaml").exists():
            raise StoreError(
                f"{path}: there is a run here already. Continue it with --resume {path}, "
                "or choose another --name."
            )
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        write_atomically(path / "config.yaml", config.to_yaml().encode())
        return cls(path, config)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run."""
        file = path / "config.yaml"
        if not file.is_file():
            raise RunNotFound(f"{path}: no run here (there is no config.yaml).")
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: cannot be read as text: {error}.") from None
        return cls(path, parse_config(read_yaml(text, source=str(file)), source=str(file)))

    def append_step(self, step: Step) -> None:
        """Record a Step, and as an event the evaluation it may carry."""
        self._steps.append(step.to_json())
        if "eval.return_mean" in step.signals:
            found = {
                name: v for name, v in step.to_json()["signals"].items() if name[:5] == "eval."
            }
            self.append_event("evaluation", step.index, env_steps=step.env_steps, **found)
        if not self._mirrored:
            return
        if self._mirror is None:
            # Imported here: reading a run must not wait for TensorBoard.
            from steadyrl.store.tensorboard import TensorBoardMirror

            self._mirror = TensorBoardMirror(self.path / "tensorboard")
        self._mirror.append(step)

    def append_event(self, kind: str, step: int, **details: Any) -> None:
        """Record something that happened at a Step."""
        self._events.append({"event": kind, "step": step, **details})

    def steps(self) -> Iterator[Step]:
        """All complete Steps."""
        return (Step.from_json(record) for record in self._steps)

    def step_count(self) -> int:
        """About how many Steps there are, without reading them."""
        return self._steps.count()

    def step_records(self) -> Iterator[dict[str, Any]]:
        """All complete Steps as they stand in the file: for readers of very long runs."""
        return iter(self._steps)

    def events(self) -> Iterator[dict[str, Any]]:
        """All complete events."""
        return iter(self._events)

    def config_in_force(self) -> RunConfig:
        """config.yaml with what was changed since: by a resume, a controller or the guard."""
        changes: list[tuple[int, str, Any]] = []
        remedied: dict[str, Any] = {}
        for event in self._events:
            if event["event"] == "change":
                changes.append((event["step"], event["name"], event["after"]))
            elif event["event"] == "action":
                # Back to a checkpoint: later changes are abandoned with it, but remedies hold.
                step = event["step"]
                remedied |= {name: after for name, (_, after) in event["changes"].items()}
                kept = [change for change in changes if change[0] <= step]
                changes = kept + [(step, name, after) for name, after in remedied.items()]
        config = self.config
        for _, name, value in changes:
            config = config.changed(name, value)
        return config

    def rewind(self, step: int, *, events: int) -> None:
        """Forget what came after a checkpoint: the run continues from there and will redo it."""
        self._steps.keep_while(lambda record: record["index"] <= step)
        self._events.keep_first(events)
        self.checkpoints.drop_after(step)

    def abandon(self, step: int) -> None:
        """Set aside the Steps after a checkpoint: the run goes another way from there."""
        number = 1
        while (aside := self.path / f"abandoned-{number}.jsonl").exists():
            number += 1
        later = [record for record in self._steps if record["index"] > step]
        lines = [json.dumps(record, allow_nan=False).encode() + b"\n" for record in later]
        write_atomically(aside, b"".join(lines))
        self._steps.keep_while(lambda record: record["index"] <= step)
        self.checkpoints.drop_after(step)

    def save_checkpoint(self, state: dict[str, Any], *, step: int, good: bool) -> None:
        """Checkpoint, after making sure that the Steps before it are on disk."""
        self._steps.sync()
        self._events.sync()
        events = sum(1 for _ in self._events)
        self.checkpoints.save({**state, "events": events}, step=step, good=good)

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
            record: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except ValueError:
            return None
        return record

    def close(self) -> None:
        """Let go of all files."""
        self._steps.close()
        self._events.close()
        if self._mirror is not None:
            self._mirror.close()
            self._mirror = None


def free_run_path(parent: Path, name: str) -> Path:
    """The first of name, name-2, name-3 ... that is not taken."""
    candidate, number = parent / name, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = parent / f"{name}-{number}"
    return candidate
