"""Any training loop, watched in three lines.

    watch = steadyrl.Watch("runs/mine", family="ppo", total_env_steps=1_000_000)
    ...
    watch.log(taken, {"policy.kl": kl, "eval.return_mean": score})
    ...
    watch.close()

The run is recorded as one of ours, so `steadyrl diagnose` and `steadyrl report` open it. Watching
never takes the training down: a full disk or a value that is no number is said once, and training
goes on.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from steadyrl.core.choices import Family, Limits
from steadyrl.core.errors import SteadyError
from steadyrl.core.final import final_mean
from steadyrl.core.machine import MachineMeter, made_with
from steadyrl.core.records import Diagnosis, Finding, RunSummary, Step
from steadyrl.integrations.about import About, config_of, say_on_stderr
from steadyrl.integrations.intake import Intake
from steadyrl.judging import add_unseen
from steadyrl.stability.check import Concern
from steadyrl.stability.detectors.non_finite import RULE as NON_FINITE
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.prescribe import prescriptions
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.foreign.mapping import OWN, NameTable, load_table, names_of_settings
from steadyrl.store.writer import RunWriter, claim_run_path

T = TypeVar("T")


class Watch:
    """Records and judges what a loop measures."""

    def __init__(
        self,
        path: str | Path,
        *,
        family: Family = "unknown",
        total_env_steps: int = 0,
        settings: Mapping[str, Any] | None = None,
        limits: Limits = "relative",
        names: str | Path | NameTable = OWN,
        about: About | None = None,
        say: Callable[[str], None] = say_on_stderr,
    ) -> None:
        """Begin to record at `path` (or at path-2, path-3 ... if there is a run already).

        Args:
            path: the run's folder.
            family: which algorithm it is, so that its rules are used.
            total_env_steps: the budget; rules about progress need it.
            settings: hyperparameters, under our names or those of `names`.
            limits: relative: rules hold the run against its own past; document: also against the
                source documents' absolute numbers.
            names: how your values are called: a built-in table (sb3, cleanrl, rllib, trl), a
                mapping file, or our own names (default; 'steadyrl signals' lists them).
            about: all that is known, in place of family, total_env_steps, settings and limits.
            say: who is told of findings, a line each.
        """
        known = about or About(
            family=family, total_env_steps=total_env_steps, settings=settings, limits=limits
        )
        table = names if isinstance(names, NameTable) else load_table(names)
        self._intake = Intake(table, say)
        self._say = say
        self.path = Path(path)
        self.config = config_of(known, table)
        self._store: RunWriter | None = None
        self._began = time.monotonic()
        self._last: Step | None = None
        self._returns: list[float] = []
        self.broken = False  # an error of our own: then nothing is watched any more
        self._monitor = Monitor(self.config)
        self._machine: MachineMeter | None = None
        self._process = os.getpid()
        self._written("begin", self._begin)
        atexit.register(self._abandoned)  # Ctrl-C in somebody's learn() never reaches us

    def log(self, taken: int, values: Mapping[str, Any]) -> list[Finding]:
        """Take what was measured now; returns (and tells) what is newly found."""
        return self.guarded(lambda: self._take(taken, self._intake.signals(values)), [])

    def record(self, taken: int, signals: Mapping[str, float]) -> list[Finding]:
        """Take signals under our own names, as they are."""
        return self.guarded(lambda: self._take(taken, signals), [])

    def guarded(self, work: Callable[[], T], otherwise: T) -> T:
        """Do something that must not take the training down, whatever happens."""
        if self.broken:
            return otherwise
        try:
            return work()
        except Exception as error:
            self.broken = True
            if self._store is not None:
                self._store.close()
                self._store = None
            self._say(
                f"watching has ended with an error of its own ({type(error).__name__}: {error}); "
                "training goes on. Please report it."
            )
            return otherwise

    def _take(self, taken: int, signals: Mapping[str, float]) -> list[Finding]:
        machine = self._machine.read() if self._machine else {}
        index = self._last.index + 1 if self._last else 1
        seconds = time.monotonic() - self._began
        step = Step(index, int(taken), seconds, {**signals, **machine})
        self._last = step
        for name in ("eval.return_mean", "rollout.return_mean"):
            if math.isfinite(step.signals.get(name, math.nan)):
                self._returns.append(step.signals[name])
                break
        findings = self._monitor.observe(step)
        self._written("record", lambda store: store.append_step(step))
        for finding in findings:
            self._tell(finding)
        return findings

    def not_finite(self, taken: int, message: str, signal: str) -> list[Finding]:
        """Take a number on its way that is none, before it gets into its signal; told once."""
        if any(finding.rule == NON_FINITE.id for finding in self._monitor.findings):
            return []
        last = self._last or Step(0, 0, 0.0, {})
        at = replace(last, taken=taken)
        finding = self._monitor.tell(NON_FINITE, message, at, {signal: math.nan})
        self._tell(finding)
        return [finding]

    def remark(self, taken: int, concern: Concern) -> None:
        """Take an answer about the environment as a note: it may be so in a sound one too."""
        finding = Finding(
            rule=concern.rule, name=concern.name, severity="note", taken=taken,
            step=self._last.index if self._last else 0, message=concern.message, evidence={},
        )  # fmt: skip
        self._monitor.findings.append(finding)
        self._tell(finding)

    def _tell(self, finding: Finding) -> None:
        record = {k: v for k, v in finding.to_json().items() if k != "step"}
        self.note("finding", **record)
        self._say(
            f"{self.config.unit.one} {finding.taken:,}: {finding.severity}: {finding.rule} "
            f"{finding.name}: {finding.message}"
        )

    def note(self, kind: str, **details: Any) -> None:
        """Record something that happened, as an event."""
        step = self._last.index if self._last else 0
        self._written("record", lambda store: store.append_event(kind, step, **details))

    def changed(self, name: str, before: Any, after: Any, because: str) -> None:
        """Take that a setting was changed: from here on it is judged by the new value."""
        self.config = self.config.changed(name, after)
        self._monitor.config = self.config
        self.note("change", name=name, before=before, after=after, because=because)

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far."""
        return list(self._monitor.findings)

    @property
    def sick(self) -> bool:
        """Whether anything severe has been found that training itself has done."""
        return any(finding.alarming for finding in self._monitor.findings)

    def diagnose(self) -> list[Diagnosis]:
        """What explains the findings, most likely first."""
        return self.guarded(self._monitor.diagnose, [])

    def resume(self, total_env_steps: int) -> None:
        """Go on after close() with a larger budget: the same record, the same past."""
        if self._store is None and not self.broken:
            self.config = self.config.replaced({"total_env_steps": total_env_steps})
            self._written("begin", self._begin_again)

    def close(self, status: Any = "finished", message: str = "") -> None:
        """Write diagnosis and summary; say what was found and where it lies."""
        if self._store is not None:
            self.guarded(lambda: self._close(self._store, status, message), None)

    def _close(self, store: RunWriter | None, status: Any, message: str) -> None:
        diagnoses = self.diagnose()
        for diagnosis in diagnoses:
            self.note("diagnosis", **diagnosis.to_json())
        self._written("finish", lambda to: to.write_summary(self._summary(status, message)))
        if store is not None:
            store.close()
        self._store = None
        atexit.unregister(self._abandoned)
        if diagnoses:
            first = diagnoses[0]
            self._say(f"{first.likelihood} {first.cause} {first.name} ({first.confidence:.2f})")
            window = self._monitor.window
            changes = prescriptions([first], self.config, window, names_of_settings(self.config))
            for remedy in first.remedies:
                self._say(f"remedy {remedy}: {changes.get(remedy, REMEDIES[remedy].effect)}")
        self._say(f"recorded in {self.path}: steadyrl diagnose {self.path}")

    def _abandoned(self) -> None:
        """The program ends without close(): Ctrl-C, an exception, or nobody called it."""
        if os.getpid() != self._process:  # a fork's exit is not the run's
            return
        error = getattr(sys, "last_value", None)
        failed = error is not None and not isinstance(error, KeyboardInterrupt)
        why = repr(error) if error is not None else "the program ended without closing its watch"
        self.close("failed" if failed else "interrupted", why)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.close("interrupted" if kind is KeyboardInterrupt else "failed", str(error))

    def _begin(self, _store: RunWriter | None = None) -> None:
        self.path = claim_run_path(self.path)
        self._store = store = RunWriter.create(self.path, self.config)
        store.append_event("started", 0, source=self.config.source, **made_with())
        self._machine = MachineMeter(self.path, lambda: store.seconds_writing)

    def _begin_again(self, _store: RunWriter | None = None) -> None:
        self._store = RunWriter.open(self.path)
        self._store.write_config(self.config)
        self._monitor = Monitor(self.config)
        for step in self._store.steps():  # the monitor is a function of the recorded Steps
            self._monitor.observe(step)
        add_unseen(self._monitor, self._store)
        atexit.register(self._abandoned)
        self.note("resumed")

    def _written(self, doing: str, work: Callable[[RunWriter], None]) -> None:
        """Write, and survive if that is not possible."""
        if self._store is None and doing != "begin":
            return
        try:
            work(self._store)  # type: ignore[arg-type] # 'begin' makes it
        except SteadyError as error:
            if self._store is not None:
                self._store.close()
            self._store = None
            self._say(f"{error} Watching goes on, but nothing more is recorded.")

    def _summary(self, status: Any, message: str) -> RunSummary:
        last = self._last or Step(0, 0, 0.0, {})
        return RunSummary(
            status=status,
            algorithm=self.config.family,
            task=self.config.task,
            seed=self.config.seed,
            steps=last.index,
            taken=last.taken,
            seconds=round(last.seconds, 3),
            message=message,
            last_signals=last.signals,
            best_return=max(self._returns, default=None),
            final_return=final_mean(self._returns) if self._returns else None,
        )
