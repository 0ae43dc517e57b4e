"""Writes what a run produces: Steps, events, changes, checkpoints and how it ended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from steadyrl.algorithms.common.training import Training
from steadyrl.core.errors import SteadyError
from steadyrl.core.final import final_mean
from steadyrl.core.machine import MachineMeter
from steadyrl.core.records import (
    Change,
    Diagnosis,
    Evidence,
    Finding,
    Intervention,
    RunSummary,
    Step,
    number_to_json,
)
from steadyrl.core.run_config import RunConfig
from steadyrl.leading import whole_state
from steadyrl.store.black_box import BLACK_BOX_STEPS, write_black_box
from steadyrl.store.writer import RunWriter


class Scribe:
    """A run's pen. It decides nothing."""

    def __init__(self, training: Training, store: RunWriter) -> None:
        self._training, self._store = training, store
        self._machine = MachineMeter(store.path, lambda: store.seconds_writing)
        self.last: Step | None = None
        self._returns: list[float] = []

    @property
    def now(self) -> Step:
        """The Step that the run stands at."""
        return self.last or Step(0, 0, 0.0, {})

    def look_back(self) -> Iterator[Step]:
        """The recorded Steps, one by one; when all were seen, it stands where they end."""
        self.last, self._returns = None, []
        for step in self._store.steps():
            self._remember(step)
            yield step
        self._saved_at = self._training.world.steps_taken
        self._saved_step = -1
        self._written = Counter(map(_as_text, self._store.changes()))
        self._changes_seen = 0

    def _remember(self, step: Step) -> None:
        self.last = step
        if "eval.return_mean" in step.signals:
            self._returns.append(step.signals["eval.return_mean"])

    def record(self, step: Step) -> Step:
        """Write a Step, with what the machine says of itself."""
        self.write_changes()
        step = replace(step, signals={**step.signals, **self._machine.read()})
        self._store.append_step(step)
        self._remember(step)
        return step

    def write_findings(self, findings: Sequence[Finding], at: int) -> None:
        """What rules said of a Step."""
        for finding in findings:
            self._store.append_event("finding", at, **_but(finding.to_json(), "step"))

    def write_probes(self, probes: Mapping[str, Evidence], at: int) -> None:
        """What the learner answered when it was looked at closely."""
        for evidence in probes.values():
            values = {name: number_to_json(value) for name, value in evidence.values.items()}
            self._store.append_event(
                "probe", at, probe=evidence.probe, statement=evidence.statement, **values
            )

    def write_end(self, because: str) -> None:
        """Why a run ends before its budget does, if its settings say so."""
        self._store.append_event("stopped early", self.now.index, because=because)

    def write_changes(self) -> None:
        """Every change in force stands in the events, once."""
        changes = self._training.live.changes
        for change in changes[self._changes_seen :]:
            if self._written[_as_text(change)]:
                self._written[_as_text(change)] -= 1
            else:
                self._store.append_event("change", change.step, **_but(change.to_json(), "step"))
        self._changes_seen = len(changes)

    def set_aside(self, action: Intervention, *, returns: int) -> None:
        """What came after the checkpoint that the guard goes back to, and why it does."""
        self._store.abandon(action.step, returns=returns)
        self._store.append_event("action", action.step, **_but(action.to_json(), "step"))

    def dump_black_box(self, because: str) -> None:
        """Everything needed to understand a number that is not finite."""
        bad, batch = self._training.black_box()
        steps = [step.to_json() for step in self._store.steps()][-BLACK_BOX_STEPS:]
        write_black_box(self._store.path, because=because, bad=bad, batch=batch, steps=steps)
        self._store.append_event("black box", self.now.index, first_bad_tensor=bad, because=because)

    def checkpoint_when_due(self, *, good: bool, guard: Mapping[str, Any]) -> bool:
        """Save if it is time to, or if this is the best evaluation so far; whether it did."""
        taken = self._training.world.steps_taken
        if taken - self._saved_at >= self._config.checkpoints.every:
            self.checkpoint(good=good, guard=guard)
            return True
        if self.last and self._store.checkpoints.would_be_best(self.last.signals):
            due_since = self._saved_at  # the best comes between: those that are due stay when due
            self.checkpoint(good=good, guard=guard)
            self._saved_at = due_since
            return True
        return False

    def checkpoint(self, *, good: bool, guard: Mapping[str, Any]) -> None:
        """Save the whole state at the last Step, if that is not saved yet."""
        if self.last is None or self.last.index == self._saved_step:
            return
        self.save(self.last.index, good=good, guard=guard)
        self._saved_step, self._saved_at = self.last.index, self.last.taken

    def save(self, step: int, *, good: bool, guard: Mapping[str, Any]) -> None:
        """Save the whole state as that of a Step, with what the guard has done so far."""
        state = {**whole_state(self._training), "guard": guard}
        measured = self.last.signals if self.last and self.last.index == step else None
        self._store.save_checkpoint(state, step=step, good=good, measured=measured)

    def finish(
        self, status: str, message: str, diagnose: Callable[[], Sequence[Diagnosis]]
    ) -> RunSummary:
        """Write the diagnosis and the summary, and let go of the files."""
        summary = self._summary(status, message)
        try:
            for diagnosis in diagnose():
                self._store.append_event("diagnosis", self.now.index, **diagnosis.to_json())
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

    def _summary(self, status: Any, message: str) -> RunSummary:
        config, last = self._config, self.last
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
