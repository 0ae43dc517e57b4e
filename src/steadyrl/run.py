"""The one place where a trainer and its run directory meet.

`train` starts a run, `resume` continues one exactly, `drive` consumes the Steps of either: it
records, checkpoints, and stops at an update boundary when asked to.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from steadyrl.algorithms.training import Training, prepare
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.errors import CheckpointError, SteadyError
from steadyrl.core.records import RunStatus, RunSummary, Step
from steadyrl.store.run_directory import RunDirectory, free_run_path

Observer = Callable[[Step], None]

# The only setting a resumed run may change: it moves the end, not the path.
EXTENDABLE = "total_env_steps"


class Controls:
    """What may reach into a run from outside: so far, the wish that it stop."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None

    def stop(self, because: str) -> None:
        """End the run at the next Step, with a checkpoint."""
        self.stop_reason = because


def train(
    config: RunConfig, directory: Path | None = None, *, observers: tuple[Observer, ...] = ()
) -> tuple[RunSummary, Path]:
    """Train from the beginning; returns how it ended and where it lies."""
    path = directory or free_run_path(Path("runs"), default_name(config))
    training = prepare(config)
    store = RunDirectory.create(path, config)
    store.append_event("started", 0, seed=config.seed)
    return drive(training, store, observers=observers), path


def resume(
    directory: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    observers: tuple[Observer, ...] = (),
) -> RunSummary:
    """Continue a run from its newest intact checkpoint, exactly as if it had never stopped."""
    store = RunDirectory.open(directory)
    step, state, problems = store.checkpoints.load_latest()
    training = prepare(store.config)
    _refuse_other_settings(training, state, store)
    training.load_state_dict(state)
    extended = _extension(training, overrides or {})
    store.rewind(step)
    for problem in problems:
        store.append_event("checkpoint skipped", step, problem=problem)
    store.append_event("resumed", step)
    if extended is not None:
        training.live.change(EXTENDABLE, extended, step=step, because="asked for on resume")
    return drive(training, store, observers=observers)


def drive(
    training: Training,
    store: RunDirectory,
    *,
    controls: Controls | None = None,
    observers: tuple[Observer, ...] = (),
) -> RunSummary:
    """Consume Steps until the trainer is done or told to stop. Nothing written is ever lost."""
    controls = controls or Controls()
    scribe = _Scribe(training, store)
    status: RunStatus = "failed"
    message = ""
    try:
        with interrupts(controls):
            for step in training.steps:
                scribe.record(step)
                for observe in observers:
                    observe(step)
                if controls.stop_reason is not None:
                    break
        status = "interrupted" if controls.stop_reason is not None else "finished"
        message = controls.stop_reason or ""
        scribe.checkpoint()
    except SteadyError as error:
        status, message = "failed", str(error)
        raise
    finally:
        summary = scribe.finish(status, message)
        training.envs.close()
    return summary


class _Scribe:
    """Writes what a run produces, and knows when the next checkpoint is due."""

    def __init__(self, training: Training, store: RunDirectory) -> None:
        self._training, self._store = training, store
        self._last: Step | None = None
        self._returns: list[float] = []
        self._finite = True
        self._saved_at = training.envs.steps_taken
        self._checkpointed_step = -1
        for step in store.steps():
            self._remember(step)
        self._changes_written = sum(1 for e in store.events() if e["event"] == "change")

    def record(self, step: Step) -> None:
        changes = self._training.live.changes
        for change in changes[self._changes_written :]:
            self._store.append_event("change", change.step, **_without_step(change.to_json()))
        self._changes_written = len(changes)
        self._store.append_step(step)
        self._remember(step)
        self._finite = self._finite and all(map(math.isfinite, step.signals.values()))
        if step.env_steps - self._saved_at >= self._every:
            self.checkpoint()

    @property
    def _every(self) -> int:
        return self._training.live.now.checkpoints.every_env_steps

    def checkpoint(self) -> None:
        """Save the whole state at the last Step, if that is not saved yet."""
        if self._last is None or self._last.index == self._checkpointed_step:
            return
        state = self._training.state_dict()
        self._store.save_checkpoint(state, step=self._last.index, good=self._finite)
        self._checkpointed_step = self._last.index
        self._saved_at = self._last.env_steps
        self._finite = True

    def finish(self, status: RunStatus, message: str) -> RunSummary:
        summary = self._summary(status, message)
        try:
            self._store.write_summary(summary)
        except SteadyError:
            if status != "failed":  # a failure under way must not be hidden by this one
                raise
        finally:
            self._store.close()
        return summary

    def _remember(self, step: Step) -> None:
        self._last = step
        if "eval.return_mean" in step.signals:
            self._returns.append(step.signals["eval.return_mean"])

    def _summary(self, status: RunStatus, message: str) -> RunSummary:
        config, last = self._training.live.now, self._last
        summary = RunSummary(
            status=status,
            algorithm=config.algorithm,
            environment=config.environment.id,
            seed=config.seed,
            steps=0,
            env_steps=0,
            seconds=0.0,
            message=message,
        )
        if last is None:
            return summary
        return replace(
            summary,
            steps=last.index,
            env_steps=last.env_steps,
            seconds=round(last.seconds, 3),
            last_signals=last.signals,
            best_return=max(self._returns, default=None),
            final_return=self._returns[-1] if self._returns else None,
        )


@contextmanager
def interrupts(controls: Controls) -> Iterator[None]:
    """Ctrl-C (or SIGTERM) stops at the next Step; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, _frame: object) -> None:
        if controls.stop_reason is not None:
            raise KeyboardInterrupt
        controls.stop(f"stopped by {signal.Signals(number).name}")

    watched = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in watched]
    try:
        yield
    finally:
        for number, handler in zip(watched, before, strict=True):
            signal.signal(number, handler)


def default_name(config: RunConfig) -> str:
    """A run's name when none is given: algorithm, environment, seed."""
    environment = config.environment.id.rpartition("/")[2].lower()
    return f"{config.algorithm}-{environment}-seed{config.seed}"


def _refuse_other_settings(
    training: Training, state: Mapping[str, Any], store: RunDirectory
) -> None:
    """The config file must still be the one the checkpoint was made with."""
    saved = type(store.config).parse(state["config"]["now"], source="checkpoint")
    changed = {change["name"] for change in state["config"]["changes"]}
    differences = {
        name: pair
        for name, pair in training.live.now.differences(saved).items()
        if name not in changed
    }
    if differences:
        name, (ours, theirs) = next(iter(differences.items()))
        raise CheckpointError(
            f"{store.path}/config.yaml was edited after the run began: {name} = {ours!r}, but the "
            f"checkpoint was made with {theirs!r}. Put it back, or start a new run with the change."
        )


def _extension(training: Training, overrides: Mapping[str, Any]) -> int | None:
    """The new total_env_steps if one is wanted; any other change is refused."""
    wanted = training.live.now.replaced(overrides)
    differences = training.live.now.differences(wanted)
    for name, (before, after) in differences.items():
        if name != EXTENDABLE:
            raise CheckpointError(
                f"{name} = {after!r}: a resumed run keeps its settings ({name} was {before!r}), or "
                f"it would be another experiment. Only {EXTENDABLE} may change; start a new run."
            )
    return wanted.total_env_steps if differences else None


def _without_step(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "step"}
