"""Watches a run while it is written, and carries out what the guard decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from steadyrl.algorithms.common.training import Training
from steadyrl.core.errors import OutOfMemory, SteadyError, TrainingDiverged
from steadyrl.core.records import (
    Diagnosis,
    Evidence,
    Finding,
    Intervention,
    RunStatus,
    RunSummary,
    Step,
)
from steadyrl.core.run_config import RunConfig
from steadyrl.scribe import Scribe
from steadyrl.stability.controllers import CONTROLLERS
from steadyrl.stability.detectors.memory_exhausted import RULE as MEMORY
from steadyrl.stability.detectors.non_finite import RULE as NON_FINITE
from steadyrl.stability.guard import MAX_ACTIONS, Action, choose_action
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.probes import ask_all
from steadyrl.stability.rules import Detector
from steadyrl.stability.standing import learned
from steadyrl.stability.stopping import reason_to_stop
from steadyrl.store.writer import RunWriter

GuardMode = Literal["off", "watch", "act", "stop"]

NO_ACTIONS: Mapping[str, Any] = {"tried": [], "remedied": {}}
BEGINNING = 0  # the Step of a run's first state


@dataclass(frozen=True)
class Observers:
    """Who else wants to see what happens; they only look."""

    step: Callable[[Step], None] = lambda _step: None
    finding: Callable[[Finding], None] = lambda _finding: None
    action: Callable[[Intervention], None] = lambda _intervention: None
    begun: Callable[[Path], None] = lambda _path: None  # where the run lies
    saved: Callable[[Step], None] = lambda _step: None  # the whole state at this Step
    stopping: Callable[[str], None] = lambda _because: None  # it ends at the next Step


class Controls:
    """The wish, from a signal or from the guard, that a run stop at its next Step."""

    def __init__(self, told: Callable[[str], None] = lambda _because: None) -> None:
        self.status: RunStatus = "finished"
        self.reason = ""
        self.stopping = False  # somebody wants it to end
        self._told = told

    def stop(self, status: RunStatus, because: str) -> None:
        """End the run at the next Step, with a checkpoint."""
        self.status, self.reason, self.stopping = status, because, True
        self._told(because)


class Guarding:
    """A run that is recorded and watched, and acted upon if that is allowed."""

    def __init__(
        self, training: Training, store: RunWriter, guard: GuardMode, acted: Mapping[str, Any]
    ) -> None:
        self._training, self._store, self._guard = training, store, guard
        self._scribe = Scribe(training, store)
        self._tried = set(acted["tried"])
        self._remedied = {name: tuple(pair) for name, pair in acted["remedied"].items()}
        self._probes: dict[str, Evidence] = {}
        if guard == "act":
            store.checkpoints.hold(BEGINNING)
        self._look_back()

    def _look_back(self) -> None:
        """Stand where the recorded Steps end: the monitor is a function of them."""
        self._monitor = Monitor(self._config)
        for step in self._scribe.look_back():
            self._monitor.observe(step)

    def record(self, step: Step) -> list[Finding]:
        """Write a Step and what the monitor finds in it."""
        step = self._scribe.record(step)
        if self._guard == "off":
            self._monitor.window.append(step)
            findings: list[Finding] = []
        else:
            findings = self._monitor.observe(step)
        self._adjust(step)
        self._scribe.write_findings(findings, step.index)
        return findings

    def _adjust(self, step: Step) -> None:
        """Let the controllers that the config asks for change settings, from the next update on."""
        for controller in CONTROLLERS:
            adjustment = controller(self._monitor.window, self._config)
            if adjustment is None:
                continue
            for name, value in adjustment.changes.items():
                self._training.live.change(name, value, step=step.index, because=adjustment.because)
        self._scribe.write_changes()

    def survive(self, error: TrainingDiverged, controls: Controls, observers: Observers) -> bool:
        """After divergence: open the black box, and go on from a good checkpoint if allowed."""
        self.respond([self._tell(NON_FINITE, error)], controls, observers)
        return self._guard == "act" and not controls.stopping

    def tell_memory(self, error: OutOfMemory) -> None:
        """After an update that did not fit: a finding, so that a diagnosis says what would."""
        self._tell(MEMORY, error)

    def _tell(self, rule: Detector, error: SteadyError) -> Finding:
        at = self._scribe.now
        finding = self._monitor.tell(rule, str(error), at)
        self._scribe.write_findings([finding], at.index)
        return finding

    def respond(self, findings: list[Finding], controls: Controls, observers: Observers) -> None:
        """On a severe finding: look closer, then nothing, stop, or try an automatic remedy.

        What is less than severe may still be a reason to begin anew, while that loses nothing.
        """
        for finding in findings:
            observers.finding(finding)
        findings = [finding for finding in findings if finding.concerns == "training"]
        if not findings:
            return
        severe = [finding for finding in findings if finding.alarming]
        worst = severe[0] if severe else findings[0]
        verdict = f"{worst.rule} {worst.name}: {worst.message}"
        if severe:
            self._look_closer(severe, verdict)
        if severe and self._guard == "stop":
            controls.stop("stopped", verdict)
        if self._guard != "act":
            return
        action, good = self._choice(severe=bool(severe))
        if action is not None and good is not None and len(self._tried) < MAX_ACTIONS:
            observers.action(self._act(action, good, worst, verdict))
        elif severe:
            lacking = "good checkpoint" if action is not None and good is None else "remedy"
            controls.stop("stopped", f"{verdict}. No automatic {lacking} is left to try.")

    def _look_closer(self, severe: list[Finding], verdict: str) -> None:
        self._probes = ask_all(self._training.examine())
        self._scribe.write_probes(self._probes, severe[0].step)
        if any(finding.rule == NON_FINITE.id for finding in severe):
            self._scribe.dump_black_box(verdict)

    def _choice(self, *, severe: bool) -> tuple[Action | None, int | None]:
        """What to try now, and from which Step on."""
        window, kept = self._monitor.window, self._store.checkpoints
        # Beginning anew is cheap as long as nothing was learned, and only then.
        anew = kept.is_good(BEGINNING) and learned(window) != "yes"
        action = choose_action(
            self._diagnose(), self._config, window, self._tried, severe=severe, anew=anew
        )
        return action, BEGINNING if action and action.anew else kept.last_good()

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

    def _go_back(self, action: Intervention) -> None:
        """On from a checkpoint that was put back; a kill before the end undoes all of it."""
        live, step = self._training.live, action.step
        self._scribe.set_aside(action, returns=len(self._tried))
        self._probes = {}  # they asked the learner that was left behind
        # Older remedies were perhaps applied after this checkpoint: they still hold.
        for name, (value, because) in self._remedied.items():
            if live.now.differences(live.now.replaced({name: value})):
                live.change(name, value, step=step, because=because, anew=step == BEGINNING)
        self._look_back()
        self._scribe.write_changes()
        self._scribe.save(step, good=True, guard=self._acted)

    def _diagnose(self) -> list[Diagnosis]:
        """What explains the findings, with the settings that are in force now."""
        self._monitor.config = self._config
        return self._monitor.diagnose(self._probes)

    def stop_when_idle(self, controls: Controls) -> None:
        """End the run early if the config says so and nothing improves any more."""
        because = reason_to_stop(self._monitor.window, self._config)
        if because is not None and not controls.stopping and self._scribe.last is not None:
            self._scribe.write_end(because)
            controls.stop("finished", because)

    def checkpoint_when_due(self, observers: Observers) -> None:
        """After the response to a Step: a resume from here never comes back to it."""
        if self._scribe.checkpoint_when_due(good=self._well, guard=self._acted):
            observers.saved(self._scribe.now)

    def checkpoint(self) -> None:
        """Save the whole state at the last Step, if that is not saved yet."""
        self._scribe.checkpoint(good=self._well, guard=self._acted)

    def finish(self, status: str, message: str) -> RunSummary:
        """Write the diagnosis and the summary, and let go of the files."""
        return self._scribe.finish(status, message, self._diagnose)

    @property
    def _well(self) -> bool:
        """Whether the state is one to come back to."""
        return not any(finding.alarming for finding in self._monitor.findings)

    @property
    def _acted(self) -> dict[str, Any]:
        return {"tried": sorted(self._tried), "remedied": self._remedied}

    @property
    def _config(self) -> RunConfig:
        config: RunConfig = self._training.live.now
        return config
