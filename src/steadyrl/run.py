"""The one place where trainer, monitor and run directory meet.

`train` starts a run, `resume` continues one exactly, `fork` begins a new run from another's
checkpoint with settings changed. `drive` consumes the Steps of any of them: each is recorded and
watched, saved when due and acted upon if the guard may; a run stops at an update boundary when
asked to.
Of several processes that train one run only the first does so; the others follow it.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from steadyrl.algorithms.common.training import Training, prepare
from steadyrl.core.config import refuse_at_a_fork
from steadyrl.core.errors import (
    CheckpointError,
    OutOfMemory,
    SteadyError,
    TrainingDiverged,
    memory_errors,
)
from steadyrl.core.launch import launched
from steadyrl.core.machine import made_with
from steadyrl.core.records import RunSummary
from steadyrl.core.run_config import RunConfig
from steadyrl.core.seeding import Generators
from steadyrl.guarding import NO_ACTIONS, Controls, Guarding
from steadyrl.guarding import GuardMode as GuardMode
from steadyrl.guarding import Observers as Observers
from steadyrl.leading import follow, leading, led, say_ended, whole_state
from steadyrl.nets.processes import losses
from steadyrl.store.reader import DAMAGE, RunReader
from steadyrl.store.writer import RunWriter, claim_run_path


def train(
    config: RunConfig,
    directory: Path | None = None,
    *,
    numbered: bool = False,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
) -> tuple[RunSummary, Path]:
    """Train from the beginning; returns how it ended and where it lies.

    `numbered`: if the directory is taken, the first free one of directory-2, directory-3 ... is it.
    """
    if launched().follows:
        return _followed(config)
    path = directory or Path("runs") / default_name(config)
    with _begun(path, config, numbered=numbered or directory is None) as (training, store):
        with store.begins():
            store.append_event("started", 0, seed=config.seed, guard=guard, **_made_with(training))
            _save_beginning(training, store, step=0, good=True)
        return drive(training, store, guard=guard, observers=observers), store.path


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
    if launched().follows:
        return _followed(RunReader.open(directory).config)[0]
    with closing(RunWriter.open(directory)) as store:
        step, state, problems = store.checkpoints.load_latest()
        training = prepare(store.config)
        with closing(training.world), leading(training):
            _refuse_other_settings(training, state, store)
            training.load_state_dict(state)
            changes = _allowed_changes(training, overrides or {})
            acted = state["guard"]
            for problem in store.rewind(step, events=state["events"], returns=len(acted["tried"])):
                # The training state is whole, so it can go on; the record is not, and must say so.
                store.append_event(DAMAGE, step, problem=problem)
            for problem in problems:
                store.append_event("checkpoint skipped", step, problem=problem)
            store.append_event("resumed", step, **_made_with(training))
            acted = _apply(training, changes, step, acted)
            guard = guard or _recorded_guard(store)
            return drive(training, store, guard=guard, observers=observers, acted=acted)


def fork(
    source: Path,
    step: int,
    changes: Mapping[str, Any],
    directory: Path,
    *,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
) -> RunSummary:
    """A new run from another's checkpoint: same weights, data and randomness, settings changed.

    If the seed is among the changes, weights and data are the same and the randomness is another.
    """
    parent = RunReader.open(source)
    state = parent.checkpoints.load(step)
    refuse_at_a_fork(type(parent.config), changes)
    config = type(parent.config).parse(state["config"]["now"]).replaced(changes)
    if launched().follows:
        return _followed(config)[0]
    if "seed" in changes:
        state["learner"]["parts"]["generators"] = Generators(config.seed).state_dict()
    state["config"] = {"now": config.plain(), "changes": []}
    with _begun(directory, config, state=state) as (training, store):
        told = {"source": str(source), "changes": dict(changes), "guard": guard}
        with store.begins():
            store.append_event("forked", step, **told, **_made_with(training))
            # Its past is its parent's: detectors compare a run with itself, and must know how it
            # was.
            for past in parent.steps():
                if past.index <= step:
                    store.append_step(past)
            _save_beginning(training, store, step=step, good=parent.checkpoints.is_good(step))
        return drive(training, store, guard=guard, observers=observers)


def drive(
    training: Training,
    store: RunWriter,
    *,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
    acted: Mapping[str, Any] | None = None,
) -> RunSummary:
    """Consume Steps until the trainer is done or told to stop. Nothing written is ever lost."""
    observers, status, message = observers or Observers(), "failed", ""
    controls = Controls(observers.stopping)
    watched = Guarding(training, store, guard, acted or NO_ACTIONS)
    # To the very end: a terminal's closing is told twice and must not cost the last checkpoint.
    with interrupts(controls):
        try:
            observers.begun(store.path)
            with memory_errors(store.path), losses(training.processes):
                _consume(training, store.path, watched, controls, observers)
            ended = controls.status, controls.reason
            watched.checkpoint()
            status, message = ended
        except KeyboardInterrupt:
            status, message = "interrupted", "stopped at once, between two Steps"
            raise
        except SteadyError as error:
            status = "diverged" if isinstance(error, TrainingDiverged) else "failed"
            message = str(error)
            if status == "failed":
                _save_what_stands(error, watched, store)
            else:
                told = f"where the first bad number comes from: steadyrl replay {store.path}"
                error.add_note(told)
            if isinstance(error, OutOfMemory):
                watched.tell_memory(error)  # after the checkpoint: a resume leaves it behind
            raise
        finally:
            summary = watched.finish(status, message)
    say_ended(training, store.path, summary)
    return summary


def _consume(
    training: Training, path: Path, watched: Guarding, controls: Controls, observers: Observers
) -> None:
    """All Steps, or until a wish to stop; what diverges begins anew if the guard has a way."""
    while True:
        try:
            for step in led(training, path):
                findings = watched.record(step)
                observers.step(step)
                watched.respond(findings, controls, observers)
                watched.stop_when_idle(controls)
                watched.checkpoint_when_due(observers)
                if controls.stopping:
                    return
            return
        except TrainingDiverged as error:
            if not watched.survive(error, controls, observers):
                raise


@contextmanager
def _begun(
    path: Path,
    config: RunConfig,
    *,
    state: Mapping[str, Any] | None = None,
    numbered: bool = False,
) -> Iterator[tuple[Training, RunWriter]]:
    """A trainer and its new run; a trainer that cannot begin leaves no run."""
    training = prepare(config)
    with closing(training.world), leading(training):
        if state is not None:
            training.load_state_dict(state)
        path = claim_run_path(path) if numbered else path
        with closing(RunWriter.create(path, config)) as store:
            yield training, store


def _made_with(training: Training) -> dict[str, str]:
    return made_with() | ({"passes": training.passes} if training.passes else {})


def _save_beginning(training: Training, store: RunWriter, *, step: int, good: bool) -> None:
    """From here on there is always something to resume from and to go back to."""
    store.save_checkpoint({**whole_state(training), "guard": NO_ACTIONS}, step=step, good=good)


def _save_what_stands(error: SteadyError, watched: Guarding, store: RunWriter) -> None:
    """After a failure from outside: a checkpoint if the last Step stands, and how to go on."""
    if error.step_undone:
        # Nothing that goes wrong now may hide the failure; older checkpoints are still there.
        with suppress(SteadyError, MemoryError, RuntimeError):
            watched.checkpoint()
    if store.checkpoints.steps():
        command = f"steadyrl train --resume {store.path} {error.resume_with}".rstrip()
        error.add_note(f"nothing is lost; when that is mended, continue with: {command}")


def _followed(config: RunConfig) -> tuple[RunSummary, Path]:
    """Take part in a run that the first process leads; a wish to stop is for that one to fulfil."""
    training = prepare(config)
    with closing(training.world), interrupts(Controls()), losses(training.processes):
        return follow(training)


@contextmanager
def interrupts(controls: Controls) -> Iterator[None]:
    """Ctrl-C (SIGTERM, a closed terminal) stops at the next Step; a second one stops at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, _frame: object) -> None:
        # Of a closed terminal the shell tells and the kernel; who ends a session says SIGTERM too.
        once_more = number in closed or (told and closed.issuperset(told))
        told.append(number)
        if not controls.stopping:
            controls.stop("interrupted", f"stopped by {signal.Signals(number).name}")
        elif not once_more:
            raise KeyboardInterrupt

    told: list[int] = []
    # Who said nohup has had a closed terminal ignored.
    closed = {signal.SIGHUP} if hasattr(signal, "SIGHUP") else set()
    heard = [number for number in closed if signal.getsignal(number) is not signal.SIG_IGN]
    watched = [signal.SIGINT, signal.SIGTERM, *heard]
    before = [signal.signal(number, on_signal) for number in watched]
    try:
        yield
    finally:
        for number, handler in zip(watched, before, strict=True):
            signal.signal(number, handler)


def default_name(config: RunConfig) -> str:
    """A run's name when none is given: algorithm, task, seed."""
    task = re.split(r"[/:]", config.task)[-1].lower()
    # What no file system and no shell stumbles over.
    plain = re.sub(r"[^a-z0-9._-]+", "-", task).strip("-.") or "task"
    return f"{config.algorithm}-{plain}-seed{config.seed}"


def _refuse_other_settings(training: Training, state: Mapping[str, Any], store: RunReader) -> None:
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


def _allowed_changes(training: Training, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A new budget, and what nothing that is learned depends on; any other change is refused."""
    wanted = training.live.now.replaced(overrides)
    differences, budget = training.live.now.differences(wanted), wanted.unit.setting
    allowed = (budget, *wanted.resumable)
    for name, (before, after) in differences.items():
        if name not in allowed:
            raise CheckpointError(
                f"{name} = {after!r}: a resumed run keeps its settings ({name} was {before!r}), or "
                f"it would be another experiment. Only {' and '.join(allowed)} may change; start a "
                "new run."
            )
    return {name: after for name, (_, after) in differences.items()}


def _apply(
    training: Training, changes: Mapping[str, Any], step: int, acted: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Make the changes, so that no return of the guard to an older checkpoint undoes them."""
    live = training.live
    for name, value in changes.items():
        because = "asked for on resume"
        # A schedule that ends with the budget moves with it.
        scheduled = live.now.value_of("learning_rate_schedule", "constant") != "constant"
        if name == live.now.unit.setting and scheduled:
            because += "; the learning rate's schedule now ends there, so the rate rises"
        live.change(name, value, step=step, because=because)
        acted = {**acted, "remedied": {**acted["remedied"], name: (value, because)}}
    return acted


def _recorded_guard(store: RunReader) -> GuardMode:
    """The guard that the run was begun with."""
    begun = (e for e in store.events() if e["event"] in ("started", "forked"))
    mode: GuardMode = next(begun, {}).get("guard", "watch")
    return mode
