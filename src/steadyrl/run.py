"""The one place where trainer, monitor and run directory meet.

`train` starts a run, `resume` continues one exactly, `fork` begins a new run from another's
checkpoint with settings changed. `drive` consumes the Steps of any of them: the scribe records,
watches, checkpoints and acts if the guard may; a run stops at an update boundary when asked to.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from steadyrl.algorithms.training import Training, prepare
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.errors import CheckpointError, SteadyError, TrainingDiverged
from steadyrl.core.records import RunSummary
from steadyrl.scribe import NO_ACTIONS, Controls, Scribe
from steadyrl.scribe import GuardMode as GuardMode
from steadyrl.scribe import Observers as Observers
from steadyrl.store.run_directory import RunDirectory, free_run_path

# The only setting a resumed run may change: it moves the end. (A schedule that ends with the budget
# moves with it; the audited change says so.)
EXTENDABLE = "total_env_steps"


def train(
    config: RunConfig,
    directory: Path | None = None,
    *,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
) -> tuple[RunSummary, Path]:
    """Train from the beginning; returns how it ended and where it lies."""
    path = directory or free_run_path(Path("runs"), default_name(config))
    training = prepare(config)
    with closing(training.envs):
        store = RunDirectory.create(path, config)
        store.append_event("started", 0, seed=config.seed, guard=guard)
        # From here on there is always something to resume from and to go back to.
        store.save_checkpoint({**training.state_dict(), "guard": NO_ACTIONS}, step=0, good=True)
        return drive(training, store, guard=guard, observers=observers), path


def resume(
    directory: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    guard: GuardMode | None = None,
    observers: Observers | None = None,
) -> RunSummary:
    """Continue a run from its newest intact checkpoint, exactly as if it had never stopped.

    The guard is the one the run began with, unless another is given.
    """
    store = RunDirectory.open(directory)
    step, state, problems = store.checkpoints.load_latest()
    training = prepare(store.config)
    with closing(training.envs):
        _refuse_other_settings(training, state, store)
        training.load_state_dict(state)
        extended = _extension(training, overrides or {})
        store.rewind(step, events=state["events"])
        for problem in problems:
            store.append_event("checkpoint skipped", step, problem=problem)
        store.append_event("resumed", step)
        if extended is not None:
            because = "asked for on resume"
            if getattr(training.live.now, "learning_rate_schedule", "constant") != "constant":
                because += "; the learning rate's schedule now ends there, so the rate rises"
            training.live.change(EXTENDABLE, extended, step=step, because=because)
        guard = guard or _recorded_guard(store)
        return drive(training, store, guard=guard, observers=observers, acted=state["guard"])


def fork(
    source: Path,
    step: int,
    changes: Mapping[str, Any],
    directory: Path,
    *,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
) -> RunSummary:
    """A new run from another's checkpoint: same weights, data and randomness, settings changed."""
    parent = RunDirectory.open(source)
    state = parent.checkpoints.load(step)
    config = type(parent.config).parse(state["config"]["now"]).replaced(changes)
    training = prepare(config)
    with closing(training.envs):
        training.load_state_dict({**state, "config": {"now": config.plain(), "changes": []}})
        store = RunDirectory.create(directory, config)
        store.append_event("forked", step, source=str(source), changes=dict(changes), guard=guard)
        # Its past is its parent's: detectors compare a run with itself, and must know how it was.
        for past in parent.steps():
            if past.index <= step:
                store.append_step(past)
        return drive(training, store, guard=guard, observers=observers)


def drive(
    training: Training,
    store: RunDirectory,
    *,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
    acted: Mapping[str, Any] | None = None,
) -> RunSummary:
    """Consume Steps until the trainer is done or told to stop. Nothing written is ever lost."""
    controls, observers = Controls(), observers or Observers()
    scribe = Scribe(training, store, guard, acted or NO_ACTIONS)
    status, message = "failed", ""
    try:
        with interrupts(controls):
            while True:
                try:
                    for step in training.steps:
                        findings = scribe.record(step)
                        observers.step(step)
                        scribe.respond(findings, controls, observers)
                        if controls.stopping:
                            break
                    break
                except TrainingDiverged as error:
                    if not scribe.survive(error, controls, observers):
                        raise
        scribe.checkpoint()
        status, message = controls.status, controls.reason
    except KeyboardInterrupt:
        status, message = "interrupted", "stopped at once, between two Steps"
        raise
    except SteadyError as error:
        status = "diverged" if isinstance(error, TrainingDiverged) else "failed"
        message = str(error)
        raise
    finally:
        summary = scribe.finish(status, message)
    return summary


@contextmanager
def interrupts(controls: Controls) -> Iterator[None]:
    """Ctrl-C (or SIGTERM) stops at the next Step; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, _frame: object) -> None:
        if controls.stopping:
            raise KeyboardInterrupt
        controls.stop("interrupted", f"stopped by {signal.Signals(number).name}")

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


def _recorded_guard(store: RunDirectory) -> GuardMode:
    """The guard that the run was begun with."""
    begun = (e for e in store.events() if e["event"] in ("started", "forked"))
    mode: GuardMode = next(begun, {}).get("guard", "watch")
    return mode
