"""Writes what a run produces, watches it, and carries out what the guard decides."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from steadyrl.algorithms.common.training import Training
from steadyrl.core.errors import OutOfMemory, SteadyError, TrainingDiverged
from steadyrl.core.final import final_mean
from steadyrl.core.machine import MachineMeter
from steadyrl.core.records import (
    Change,
    Diagnosis,
    Evidence,
    Finding,
    Intervention,
    RunStatus,
    RunSummary,
    Step,
    number_to_json,
)
from steadyrl.core.run_config import RunConfig
from steadyrl.stability.controllers import CONTROLLERS
from steadyrl.stability.detectors.memory_exhausted import RULE as MEMORY
from steadyrl.stability.detectors.non_finite import RULE as NON_FINITE
from steadyrl.stability.guard import MAX_ACTIONS, Action, choose_action
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.probes import ask_all
from steadyrl.stability.rules import Detector
from steadyrl.stability.stopping import reason_to_stop
from steadyrl.store.black_box import BLACK_BOX_STEPS, write_black_box
from steadyrl.store.writer import RunWriter

GuardMode = Literal["off", "watch", "act", "stop"]

NO_ACTIONS: Mapping[str, Any] = {"tried": [], "remedied": {}}


@dataclass(frozen=True)
class Observers:
    """Who else wants to see what happens; they only look."""

    step: Callable[[Step], None] = lambda _step: None
    finding: Callable[[Finding], None] = lambda _finding: None
    action: Callable[[Intervention], None] = lambda _intervention: None


class Controls:
    """The wish, from a signal or from the guard, that a run stop at its next Step."""

    def __init__(self) -> None:
        self.status: RunStatus = "finished"
        self.reason = ""
        self.stopping = False  # somebody wants it to end

    def stop(self, status: RunStatus, because: str) -> None:
        """End the run at the next Step, with a checkpoint."""
        self.status, self.reason, self.stopping = status, because, True


class Scribe:
    """Writes what a run produces, watches it, and carries out what the guard decides."""

    def __init__(
        self,
        training: Training,
        store: RunWriter,
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
        self._saved_at = self._training.world.steps_taken
        self._saved_step = -1
        self._written = Counter(map(_as_text, self._store.changes()))
        self._changes_seen = 0

    def record(self, step: Step) -> list[Finding]:
        """Write a Step and what the monitor finds in it."""
        self._write_changes()
        step = replace(step, signals={**step.signals, **self._machine.read()})
        self._store.append_step(step)
        self._remember(step)
        if self._guard == "off":
            self._monitor.window.append(step)
            findings: list[Finding] = []
        else:
            findings = self._monitor.observe(step)
        self._adjust(step)
        for finding in findings:
            self._store.append_event("finding", step.index, **_but(finding.to_json(), "step"))
        return findings

    def _adjust(self, step: Step) -> None:
        """Let the controllers that the config asks for change settings, from the next update on."""
        for controller in CONTROLLERS:
            adjustment = controller(self._monitor.window, self._config)
            if adjustment is None:
                continue
            for name, value in adjustment.changes.items():
                self._training.live.change(name, value, step=step.index, because=adjustment.because)
        self._write_changes()

    def survive(self, error: TrainingDiverged, controls: Controls, observers: Observers) -> bool:
        """After divergence: open the black box, and go on from a good checkpoint if allowed."""
        self.respond([self._tell(NON_FINITE, error)], controls, observers)
        return self._guard == "act" and not controls.stopping

    def tell_memory(self, error: OutOfMemory) -> None:
        """After an update that did not fit: a finding, so that a diagnosis says what would."""
        self._tell(MEMORY, error)

    def _tell(self, rule: Detector, error: SteadyError) -> Finding:
        at = self._last or Step(0, 0, 0.0, {})
        finding = self._monitor.tell(rule, str(error), at)
        self._store.append_event("finding", at.index, **_but(finding.to_json(), "step"))
        return finding

    def respond(self, findings: list[Finding], controls: Controls, observers: Observers) -> None:
        """On a severe finding: look closer, then nothing, stop, or try an automatic remedy."""
        for finding in findings:
            observers.finding(finding)
        severe = [finding for finding in findings if finding.alarming]
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
        if any(finding.rule == NON_FINITE.id for finding in severe):
            self.dump_black_box(verdict)
        if self._guard == "stop":
            controls.stop("stopped", verdict)
        if self._guard != "act":
            return
        action = choose_action(self._diagnose(), self._config, self._monitor.window, self._tried)
        good = self._store.checkpoints.last_good()
        if action is None or good is None or len(self._tried) >= MAX_ACTIONS:
            lacking = "good checkpoint" if action is not None and good is None else "remedy"
            controls.stop("stopped", f"{verdict}. No automatic {lacking} is left to try.")
            return
        observers.action(self._act(action, good, worst, verdict))

    def _act(self, action: Action, good: int, worst: Finding, verdict: str) -> Intervention:
        """Back to the good checkpoint, and on from there with the remedy's settings."""
        before = {name: self._config.value_of(name) for name in action.changes}
        because = f"{verdict}; {action.reason}"
        self._tried.add(action.remedy)
        self._remedied |= {name: (value, because) for name, value in action.changes.items()}
        self._training.load_state_dict(self._store.checkpoints.load(good))
        intervention = Intervention(
            found=verdict,
            found_at=worst.taken,
            step=good,
            taken=self._training.world.steps_taken,
            remedy=action.remedy,
            changes={name: (before[name], value) for name, value in action.changes.items()},
            because=because,
            unit=self._config.unit.one,
        )
        self._go_back(intervention)
        return intervention

    def _diagnose(self) -> list[Diagnosis]:
        """What explains the findings, with the settings that are in force now."""
        self._monitor.config = self._config
        return self._monitor.diagnose(self._probes)

    def dump_black_box(self, because: str) -> None:
        """Everything needed to understand a number that is not finite."""
        bad, batch = self._training.black_box()
        steps = [step.to_json() for step in self._store.steps()][-BLACK_BOX_STEPS:]
        write_black_box(self._store.path, because=because, bad=bad, batch=batch, steps=steps)
        last = self._last.index if self._last else 0
        self._store.append_event("black box", last, first_bad_tensor=bad, because=because)

    def _go_back(self, action: Intervention) -> None:
        """On from a checkpoint that was put back; a kill before the end undoes all of it."""
        live, step = self._training.live, action.step
        self._store.abandon(step, returns=len(self._tried))
        self._store.append_event("action", step, **_but(action.to_json(), "step"))
        self._probes = {}  # they asked the learner that was left behind
        # Older remedies were perhaps applied after this checkpoint: they still hold.
        for name, (value, because) in self._remedied.items():
            if live.now.differences(live.now.replaced({name: value})):
                live.change(name, value, step=step, because=because)
        self._look_back()
        self._write_changes()
        self._save(step, good=True)

    def stop_when_idle(self, controls: Controls) -> None:
        """End the run early if the config says so and nothing improves any more."""
        because = reason_to_stop(self._monitor.window, self._config)
        if because is not None and not controls.stopping and self._last is not None:
            self._store.append_event("stopped early", self._last.index, because=because)
            controls.stop("finished", because)

    def checkpoint_when_due(self) -> None:
        """After the response to a Step: a resume from here never comes back to it."""
        taken = self._training.world.steps_taken
        if taken - self._saved_at >= self._config.checkpoints.every:
            self.checkpoint()
        elif self._last and self._store.checkpoints.would_be_best(self._last.signals):
            due_since = self._saved_at  # the best comes between: those that are due stay when due
            self.checkpoint()
            self._saved_at = due_since

    def checkpoint(self) -> None:
        """Save the whole state at the last Step, if that is not saved yet."""
        if self._last is None or self._last.index == self._saved_step:
            return
        good = not any(finding.alarming for finding in self._monitor.findings)
        self._save(self._last.index, good=good)
        self._saved_step, self._saved_at = self._last.index, self._last.taken

    def _save(self, step: int, *, good: bool) -> None:
        acted = {"tried": sorted(self._tried), "remedied": self._remedied}
        state = {**self._training.state_dict(), "guard": acted}
        measured = self._last.signals if self._last and self._last.index == step else None
        self._store.save_checkpoint(state, step=step, good=good, measured=measured)

    def finish(self, status: str, message: str) -> RunSummary:
        """Write the diagnosis and the summary, and let go of the files."""
        summary = self._summary(status, message)
        try:
            for diagnosis in self._diagnose():
                last = self._last.index if self._last else 0
                self._store.append_event("diagnosis", last, **diagnosis.to_json())
            self._store.write_summary(summary)
        except SteadyError:
            # A failure under way must not be hidden by this one.
            if status not in ("failed", "diverged"):
                raise
        finally:
            self._store.close()
        return summary

    @property
    def _config(self) -> RunConfig:
        config: RunConfig = self._training.live.now
        return config

    def _write_changes(self) -> None:
        """Every change in force stands in the events, once."""
        changes = self._training.live.changes
        for change in changes[self._changes_seen :]:
            if self._written[_as_text(change)]:
                self._written[_as_text(change)] -= 1
            else:
                self._store.append_event("change", change.step, **_but(change.to_json(), "step"))
        self._changes_seen = len(changes)

    def _remember(self, step: Step) -> None:
        self._last = step
        if "eval.return_mean" in step.signals:
            self._returns.append(step.signals["eval.return_mean"])

    def _summary(self, status: Any, message: str) -> RunSummary:
        config, last = self._config, self._last
        summary = RunSummary(
            status=status,
            algorithm=config.algorithm,
            task=config.task,
            seed=config.seed,
            steps=0,
            taken=0,
            seconds=0.0,
            message=message,
        )
        if last is None:
            return summary
        return replace(
            summary,
            steps=last.index,
            taken=last.taken,
            seconds=round(last.seconds, 3),
            last_signals=last.signals,
            best_return=max(self._returns, default=None),
            final_return=final_mean(self._returns) if self._returns else None,
        )


def _as_text(change: Change) -> str:
    """The same whether it was just made or read back: a tuple becomes a list on its way."""
    return json.dumps(change.to_json())


def _but(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}
