"""Trials: runs made on behalf of an experiment, several at a time, each in a process of its own.

A trial that is already finished on disk is not run again, and one that was cut off is resumed, so
an experiment that is started a second time goes on where it stopped. What lies there from another
config is another experiment: it is set aside.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steadyrl.core.errors import SteadyError, TrainingDiverged
from steadyrl.core.final import final_mean, final_score
from steadyrl.core.numbers import amount
from steadyrl.core.records import Finding
from steadyrl.core.run_config import RunConfig
from steadyrl.core.traits import RETURN, Score
from steadyrl.experiments.executor import Executor
from steadyrl.run import GuardMode, fork, resume, train
from steadyrl.stability.detectors.non_finite import RULE as NON_FINITE
from steadyrl.store.checkpoints import has_checkpoint
from steadyrl.store.lock import WriterLock
from steadyrl.store.reader import RunReader

GO_ON = "nothing is lost; when that is mended, the same command goes on where it stopped"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run to make: from scratch, or forked from another run's checkpoint."""

    name: str
    config: RunConfig
    directory: Path
    guard: GuardMode = "watch"
    source: Path | None = None
    step: int | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial went, read from its files."""

    name: str
    path: Path
    status: str
    severe: tuple[str, ...]  # ids of severe findings
    final_return: float  # of evaluations; of a clone without any, minus its squared error
    final_length: float
    taken: int
    score: Score = RETURN  # what the final return is the end of

    @property
    def healthy(self) -> bool:
        """It ran to its end and nothing severe was found."""
        return self.status == "finished" and not self.severe

    @property
    def not_finite(self) -> bool:
        """A number stopped being one."""
        return self.status == "diverged" or NON_FINITE.id in self.severe

    @property
    def said(self) -> str:
        """Where it ended, in words."""
        if not math.isfinite(self.final_return):
            return "ended before it was evaluated"
        if math.isfinite(self.final_length):
            return f"return {amount(self.final_return)}, episodes of {self.final_length:,.0f} steps"
        sign = 1.0 if self.score.higher_is_better else -1.0
        return f"{self.score.name} {sign * self.final_return:.3g}"

    @property
    def reward_per_step(self) -> float:
        """Mean reward of a step in the last evaluations."""
        return self.final_return / self.final_length if self.final_length else float("nan")


def run_trials(trials: Sequence[Trial], executor: Executor) -> Generator[Outcome]:
    """Run them all, yielding outcomes as they come in."""
    with closing(executor.each(run_trial, trials)) as finished:
        for trial in finished:
            yield read_outcome(trial.name, trial.directory)


def run_trial(trial: Trial) -> None:
    """Make the run, or what is missing of it. Divergence is an outcome, not an error."""
    path = trial.directory
    if is_done(trial):
        return
    if not is_this(trial):
        set_aside(path)
    try:
        if has_checkpoint(path):
            summary = resume(path, guard=trial.guard)
        elif trial.source is not None and trial.step is not None:
            set_aside(path)
            summary = fork(trial.source, trial.step, trial.changes, path, guard=trial.guard)
        else:
            set_aside(path)
            summary, _ = train(trial.config, path, guard=trial.guard)
    except TrainingDiverged:
        return
    except SteadyError as error:
        if getattr(error, "__notes__", None):  # how to go on with this run, not with the experiment
            error.__notes__ = [GO_ON]
        raise
    if summary.status == "interrupted":
        raise KeyboardInterrupt


def read_outcome(name: str, path: Path) -> Outcome:
    """A run's outcome from its directory."""
    store = RunReader.open(path)
    events = list(store.events())
    # A fork's record begins with its parent's past, which is not its doing.
    start = max((int(e["step"]) for e in events if e["event"] == "forked"), default=0)
    own = [step for step in store.steps() if step.index > start]
    severe: set[str] = set()
    for event in events:
        if event["event"] == "action":  # the guard went back: what it fled from did not last
            severe.clear()
        elif event["event"] == "finding" and Finding.from_json(event).alarming:
            severe.add(str(event["rule"]))
    summary = store.summary() or {}

    def measured(signal: str) -> list[float]:
        return [step.signals[signal] for step in own if signal in step.signals]

    finals = {score: final_score(score, measured(score.signal)) for score in store.config.scores}
    score = next((score for score in finals if math.isfinite(finals[score])), RETURN)
    return Outcome(
        name=name,
        path=path,
        status=str(summary.get("status")),
        severe=tuple(sorted(severe)),
        final_return=finals.get(score, math.nan),
        final_length=final_mean(measured("eval.length_mean")),
        taken=int(summary.get("taken", 0)),
        score=score,
    )


def is_done(trial: Trial) -> bool:
    """Stopped by a finding is an end only for a trial that was meant to stop there."""
    if not (trial.directory / "summary.json").exists() or not is_this(trial):
        return False
    status = (RunReader.open(trial.directory).summary() or {}).get("status")
    return status in ("finished", "diverged") or (status == "stopped" and trial.guard == "stop")


def is_this(trial: Trial) -> bool:
    """Whether what lies in a trial's directory, if anything, was begun as this very trial."""
    if not (trial.directory / "config.yaml").exists():
        return True
    store = RunReader.open(trial.directory)
    if trial.source is None:
        return store.config == trial.config
    begun = next((event for event in store.events() if event["event"] == "forked"), {})
    return (begun.get("step"), begun.get("changes")) == (trial.step, dict(trial.changes))


def set_aside(path: Path) -> None:
    """What cannot be gone on with makes room, and is kept."""
    if not path.exists():
        return
    number = 1
    while (aside := path.with_name(f"{path.name}-abandoned-{number}")).exists():
        number += 1
    with WriterLock(path):  # not while another process is just beginning it
        path.rename(aside)
