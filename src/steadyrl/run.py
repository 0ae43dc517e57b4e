"""The one place where trainer, monitor and run directory meet.

`train` starts a run, `resume` continues one exactly, `fork` begins a new run from another's
checkpoint with settings changed. `drive` consumes the Steps of any of them: it records, watches,
checkpoints, acts if the guard may, and stops at an update boundary when asked to.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from steadyrl.algorithms.training import Training, prepare
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.errors import CheckpointError, SteadyError, TrainingDiverged
from steadyrl.core.machine import MachineMeter
from steadyrl.core.records import (
    Evidence,
    Finding,
    RunStatus,
    RunSummary,
    Step,
    number_to_json,
)
from steadyrl.stability.guard import MAX_ACTIONS, choose_action
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.probes import ask_all
from steadyrl.store.black_box import BLACK_BOX_STEPS, write_black_box
from steadyrl.store.run_directory import RunDirectory, free_run_path

GuardMode = Literal["off", "watch", "act", "stop"]

# The only setting a resumed run may change: it moves the end, not the path.
EXTENDABLE = "total_env_steps"
NON_FINITE = "D001"
NO_ACTIONS: Mapping[str, Any] = {"tried": [], "remedied": {}}


@dataclass(frozen=True)
class Observers:
    """Who else wants to see what happens; they only look."""

    step: Callable[[Step], None] = lambda _step: None
    finding: Callable[[Finding], None] = lambda _finding: None


class Controls:
    """The wish, from a signal or from the guard, that a run stop at its next Step."""

    def __init__(self) -> None:
        self.status: RunStatus = "finished"
        self.reason = ""

    def stop(self, status: RunStatus, because: str) -> None:
        """End the run at the next Step, with a checkpoint."""
        self.status, self.reason = status, because

    @property
    def stopping(self) -> bool:
        """Whether somebody wants it to end."""
        return self.status != "finished"


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
    _refuse_other_settings(training, state, store)
    training.load_state_dict(state)
    extended = _extension(training, overrides or {})
    store.rewind(step, events=state["events"])
    for problem in problems:
        store.append_event("checkpoint skipped", step, problem=problem)
    store.append_event("resumed", step)
    if extended is not None:
        training.live.change(EXTENDABLE, extended, step=step, because="asked for on resume")
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
    training.load_state_dict({**state, "config": {"now": config.plain(), "changes": []}})
    store = RunDirectory.create(directory, config)
    store.append_event("forked", step, source=str(source), changes=dict(changes), guard=guard)
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
    scribe = _Scribe(training, store, guard, acted or NO_ACTIONS)
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
        training.envs.close()
    return summary


class _Scribe:
    """Writes what a run produces, watches it, and carries out what the guard decides."""

    def __init__(
        self,
        training: Training,
        store: RunDirectory,
        guard: GuardMode,
        acted: Mapping[str, Any],
    ) -> None:
        self._training, self._store, self._guard = training, store, guard
        self._machine = MachineMeter(store.path)
        self._tried = set(acted["tried"])
        self._remedied = {name: tuple(pair) for name, pair in acted["remedied"].items()}
        self._probes: dict[str, Evidence] = {}
        self._look_back()

    def _look_back(self) -> None:
        """Stand where the recorded Steps end: the monitor is a function of them."""
        self._last: Step | None = None
        self._returns: list[float] = []
        self._monitor = Monitor(self._training.live.now)
        for step in self._store.steps():
            self._remember(step)
            self._monitor.observe(step)
        self._saved_at = self._training.envs.steps_taken
        self._saved_step = -1
        events = self._store.events()
        self._changes_written = sum(1 for event in events if event["event"] == "change")

    def record(self, step: Step) -> list[Finding]:
        """Write a Step and what the monitor finds in it; checkpoint when due."""
        self._write_changes()
        step = replace(step, signals={**step.signals, **self._machine.read()})
        self._store.append_step(step)
        self._remember(step)
        findings = self._monitor.observe(step) if self._guard != "off" else []
        for finding in findings:
            self._store.append_event("finding", step.index, **_but(finding.to_json(), "step"))
        if step.env_steps - self._saved_at >= self._config.checkpoints.every_env_steps:
            self.checkpoint()
        return findings

    def survive(self, error: TrainingDiverged, controls: Controls, observers: Observers) -> bool:
        """After divergence: open the black box, and go on from a good checkpoint if allowed."""
        at = self._last or Step(0, 0, 0.0, {})
        finding = Finding(
            rule=NON_FINITE,
            name="non-finite-signal",
            severity="severe",
            step=at.index,
            env_steps=at.env_steps,
            message=str(error),
            evidence={},
        )
        self._monitor.findings.append(finding)
        self._store.append_event("finding", at.index, **_but(finding.to_json(), "step"))
        self.respond([finding], controls, observers)
        return self._guard == "act" and not controls.stopping

    def respond(self, findings: list[Finding], controls: Controls, observers: Observers) -> None:
        """On a severe finding: look closer, then nothing, stop, or try an automatic remedy."""
        for finding in findings:
            observers.finding(finding)
        severe = [finding for finding in findings if finding.severity == "severe"]
        if not severe:
            return
        worst = severe[0]
        verdict = f"{worst.rule} {worst.name}: {worst.message}"
        self._probes = ask_all(self._training.examine())
        for evidence in self._probes.values():
            values = {name: number_to_json(value) for name, value in evidence.values.items()}
            self._store.append_event(
                "probe", worst.step, probe=evidence.probe, statement=evidence.statement, **values
            )
        if any(finding.rule == NON_FINITE for finding in severe):
            self.dump_black_box(verdict)
        if self._guard == "stop":
            controls.stop("stopped", verdict)
        if self._guard != "act":
            return
        config, window = self._config, self._monitor.window
        diagnoses = self._monitor.diagnose(self._probes)
        action = choose_action(diagnoses, config, window, self._tried)
        good = self._store.checkpoints.last_good()
        if action is None or good is None or len(self._tried) >= MAX_ACTIONS:
            lacking = "good checkpoint" if action is not None and good is None else "remedy"
            controls.stop("stopped", f"{verdict}. No automatic {lacking} is left to try.")
            return
        self._tried.add(action.remedy)
        because = f"{verdict}; {action.reason}"
        self._remedied |= {name: (value, because) for name, value in action.changes.items()}
        self._go_back(good)
        self._store.append_event(
            "action", good, remedy=action.remedy, changes=dict(action.changes), because=because
        )
        self._write_changes()
        self._save(good, good=True)  # a kill from here on must not undo the remedy

    def dump_black_box(self, because: str) -> None:
        """Everything needed to understand a number that is not finite."""
        bad, batch = self._training.black_box()
        steps = [step.to_json() for step in self._store.steps()][-BLACK_BOX_STEPS:]
        write_black_box(self._store.path, because=because, bad=bad, batch=batch, steps=steps)
        last = self._last.index if self._last else 0
        self._store.append_event("black box", last, first_bad_tensor=bad, because=because)

    def _go_back(self, step: int) -> None:
        self._training.load_state_dict(self._store.checkpoints.load(step))
        self._store.abandon(step)
        # Older remedies were perhaps applied after this checkpoint: they still hold.
        for name, (value, because) in self._remedied.items():
            self._training.live.change(name, value, step=step, because=because)
        self._look_back()

    def checkpoint(self) -> None:
        """Save the whole state at the last Step, if that is not saved yet."""
        if self._last is None or self._last.index == self._saved_step:
            return
        good = not any(f.severity == "severe" for f in self._monitor.findings)
        self._save(self._last.index, good=good)
        self._saved_step, self._saved_at = self._last.index, self._last.env_steps

    def _save(self, step: int, *, good: bool) -> None:
        acted = {"tried": sorted(self._tried), "remedied": self._remedied}
        state = {**self._training.state_dict(), "guard": acted}
        self._store.save_checkpoint(state, step=step, good=good)

    def finish(self, status: str, message: str) -> RunSummary:
        """Write the diagnosis and the summary, and let go of the files."""
        summary = self._summary(status, message)
        try:
            for diagnosis in self._monitor.diagnose(self._probes):
                last = self._last.index if self._last else 0
                self._store.append_event("diagnosis", last, **diagnosis.to_json())
            self._store.write_summary(summary)
        except SteadyError:
            if status not in (
                "failed",
                "diverged",
            ):  # a failure under way must not be hidden by this one
                raise
        finally:
            self._store.close()
        return summary

    @property
    def _config(self) -> RunConfig:
        return self._training.live.now

    def _write_changes(self) -> None:
        changes = self._training.live.changes
        for change in changes[self._changes_written :]:
            self._store.append_event("change", change.step, **_but(change.to_json(), "step"))
        self._changes_written = max(self._changes_written, len(changes))

    def _remember(self, step: Step) -> None:
        self._last = step
        if "eval.return_mean" in step.signals:
            self._returns.append(step.signals["eval.return_mean"])

    def _summary(self, status: Any, message: str) -> RunSummary:
        config, last = self._config, self._last
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


def _but(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}
