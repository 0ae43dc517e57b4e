"""A run recorded by another program: found, recognised, and read as Steps of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.choices import Family
from steadyrl.core.errors import RunNotFound
from steadyrl.core.final import final_mean
from steadyrl.core.foreign_config import Doubt, ForeignConfig
from steadyrl.core.records import Step
from steadyrl.core.run_config import EnvironmentConfig
from steadyrl.core.traits import Counted
from steadyrl.store.foreign.beside import read_beside
from steadyrl.store.foreign.event_folder import EventFolder, event_files
from steadyrl.store.foreign.finding import log_files, stamp
from steadyrl.store.foreign.mapping import (
    CONFIG,
    OTHER,
    OWN,
    NameTable,
    Source,
    built_in,
    recognised,
    telling,
)
from steadyrl.store.foreign.monitors import read_evaluations, read_monitors
from steadyrl.store.foreign.names import Names, nothing_known, told
from steadyrl.store.foreign.parts_of_loss import entropy_weight
from steadyrl.store.foreign.series import (
    Series,
    running_mean,
    to_steps,
    unlooped,
    with_settings,
    without_restarts,
)
from steadyrl.store.foreign.tables import EVALUATIONS, is_table, read_table, to_series
from steadyrl.store.foreign.unaveraged import unaveraged

THIN = 1000  # Steps that a longer log is reduced to
EPISODE = "rollout.episode_return"
WORKED_OUT = Doubt(because="worked out from the parts of the loss, about right", trust=0.9)
ENDED = 0.9  # of what was planned: so much is the whole of it


class ForeignRun:
    """Reads like a run directory of ours: `path`, `config`, `steps()`, `events()`, `summary()`."""

    def __init__(
        self,
        path: Path,
        *,
        mapping: NameTable | None = None,
        family: Family | None = None,
        total_env_steps: int = 0,
        settings: Mapping[str, Any] | None = None,
        growing: bool = False,
        within: Path | None = None,
    ) -> None:
        """`growing`: it is still written, so that its last step is not its budget.

        `within`: the folder outside of which no settings are looked for.
        """
        if "tfevents" in path.name and path.is_file():
            path = path.parent  # one event file: the others of its folder belong to it
        self.path = path
        self._given, self._family = mapping, family
        self._total, self._settings = total_env_steps, settings or {}
        self._growing, self._within = growing, within
        self._events = EventFolder(path) if path.is_dir() else None
        self._tags: dict[str, Series] = {}
        self._seen: tuple[object, ...] = ()
        self.mapping = mapping or OWN
        self._counts: Counted = "env steps"
        self.problems: list[str] = []
        self.config = ForeignConfig()
        self.names = Names()
        self._steps: list[Step] = []
        self._signals: Mapping[str, Series] = {}
        self.refresh()

    def refresh(self) -> bool:
        """Read what is new; true if anything was."""
        files = log_files(self.path)
        if not files:
            raise RunNotFound(
                f"{self.path}: no run here. Known are our run directories, TensorBoard event "
                "files, progress.csv or .json, monitor.csv, result.json, trainer_state.json, and "
                "any CSV or JSONL file with --mapping."
            )
        seen = tuple(stamp(file) for file in files)
        if seen == self._seen:
            return False
        self._seen = seen
        named, problems = self._read(files)
        named, loops = unlooped(named)
        if loops:
            problems.append(f"its steps begin anew {loops} times: counted on, as one run.")
        signals = self._translate(named)
        signals, replaced = without_restarts(signals)
        if replaced:
            problems.append(f"restarted on the way: {replaced} values of the past were replaced.")
        self._signals = signals
        self._steps = to_steps(signals, thin=THIN)
        self.problems = problems
        if not self._steps:
            problems.append(nothing_known(named))
        self.config = self._known(named, signals)
        self._steps = with_settings(self._steps, self.config.known)
        return True

    def _known(self, named: Mapping[str, Series], signals: Mapping[str, Series]) -> ForeignConfig:
        """Settings, algorithm, environment and budget: as given, as logged, as files say."""
        beside = read_beside(self.path, self._within)
        beside.settings |= self._settings  # given ones may name environment and budget too
        logged = self.mapping.family_of(named)
        if logged == "unknown" or (logged, beside.family) == ("ddpg", "td3"):
            logged = beside.family or logged
        last = max(self._steps[-1].taken, 0) if self._steps else 0
        settings = {**beside.settings, **_repeated(named), **self._settings}
        known, doubts = self.mapping.known(settings), self.mapping.weaker(signals)
        told = entropy_weight(named, self.mapping.loss_parts)
        if told is not None and "entropy_weight" not in known:
            known["entropy_weight"] = told
            doubts["setting.entropy_weight"] = WORKED_OUT
        return ForeignConfig.parse(
            {
                "source": self.mapping.name,
                "family": self._family or logged,
                "counts": self._counts,
                "total_env_steps": self._total
                or (beside.budget if self._growing else max(last, 0)),
                "planned": self._total or beside.budget,
                "environment": EnvironmentConfig(id=beside.environment or "unknown"),
                "known": known,
                "weaker": doubts,
            },
            source=str(self.path),
        )

    @property
    def about(self) -> str:
        """In a line: which algorithm, where, how long, and what was made of the log's names."""
        return told(self.config, self.names, self._steps[-1].taken if self._steps else 0)

    @property
    def unfinished(self) -> str:
        """Where the record ends, if its own files plan for more."""
        taken = self._steps[-1].taken if self._steps else 0
        planned = self.config.planned
        if self._growing or taken >= ENDED * planned:
            return ""
        return f"its record ends at {taken:,} of {planned:,} planned {self.config.unit.many}"

    def steps(self) -> Iterator[Step]:
        """All Steps."""
        return iter(self._steps)

    def series(self) -> Mapping[str, Series]:
        """Every value that was recorded, by signal: of a long log Steps are blocks of them."""
        return {name: series for name, series in self._signals.items() if len(series)}

    def events(self) -> Iterator[dict[str, Any]]:
        """Nothing is known of events."""
        return iter(())

    def summary(self) -> dict[str, Any]:
        """How far it went, in the form of a run's summary."""
        evaluated = any("eval.return_mean" in step.signals for step in self._steps)
        name = "eval.return_mean" if evaluated else "rollout.return_mean"
        values = (step.signals[name] for step in self._steps if name in step.signals)
        returns = [value for value in values if np.isfinite(value)]
        last = self._steps[-1] if self._steps else None
        return {
            "status": "recorded",
            "message": f"by {self.config.source}" if self.config.source else "",
            "taken": last.taken if last else 0,
            "seconds": last.seconds if last else 0.0,
            "final_return": final_mean(returns) if returns else None,
            "best_return": max(returns, default=None),
        }

    def _read(self, files: list[Path]) -> tuple[dict[str, Series], list[str]]:
        """All series under their own names, from the most complete source and the monitors."""
        tables = [read_table(file) for file in files if is_table(file, self.path)]
        problems = [problem for table in tables for problem in table.problems]
        table = next((table for table in tables if table.rows), None)
        named: dict[str, Series] = {}
        if table is not None:
            names = table.names()
            self.mapping = self._given or recognised(names) or OWN
            steps = self.mapping.steps_among(names)
            if self.mapping.steps and not steps:
                wanted = " or ".join(self.mapping.steps[:3])
                problems.append(f"no column {wanted}: its rows are counted.")
            self._counts = self.mapping.counted_by(steps)
            named = to_series(table.rows, steps, self.mapping.seconds_among(names))
        elif self._events is not None and event_files(self.path):
            named = self._read_events(self._events)
            problems += self._events.problems()
            self.mapping = self._given or recognised(named) or OWN
            self._counts = self.mapping.counts
        return {**self._episodes(files, named, problems), **named}, problems

    def _episodes(
        self, files: list[Path], named: Mapping[str, Series], problems: list[str]
    ) -> dict[str, Series]:
        """Every training episode and every evaluation, where files beside the log hold them."""
        monitors = [file for file in files if file.name.endswith("monitor.csv")]
        found = read_monitors(monitors, problems) if monitors else {}
        if found and not named and self._given is None:
            self.mapping = built_in()["sb3"]
        known = self.mapping.sources_of(named)
        for file in files:
            if file.name == EVALUATIONS and "eval.return_mean" not in known:
                found |= read_evaluations(file, problems)
        return {name: series for name, series in found.items() if name not in known}

    def _read_events(self, folder: EventFolder) -> dict[str, Series]:
        """What is new is added to what was read; a file that was replaced is read anew."""
        if folder.replaced:
            self._events = folder = EventFolder(self.path)
            self._tags = {}
        for tag, series in folder.read().items():
            known = self._tags.get(tag)
            self._tags[tag] = series if known is None else Series.joined([known, series])
        return dict(self._tags)

    def _translate(self, named: Mapping[str, Series]) -> dict[str, Series]:
        """Our signals, made as the table says."""
        sources = self.mapping.sources_of(named)
        signals: dict[str, Series] = {}
        for signal, (name, source) in sources.items():
            series = _measured(named[name], source, named)
            if source.last and signal == "rollout.return_mean":
                signals[EPISODE] = series
            if source.counted_by in named:
                alone = unaveraged(series, named[source.counted_by], source.span)
                signals |= {EPISODE: alone} if alone is not None else {}
            if source.last:
                series = running_mean(series, source.last)
            factor = _factor(source, series)
            if factor is not None:
                signals[signal] = series.times_factor(factor)
        for signal, several in self.mapping.alike(named).items():
            signals[signal] = min((named[n] for n in several), key=lambda s: max(s.values))
        used = {name for name, _ in sources.values()}
        used |= {source.counted_by for _, source in sources.values()}
        for name, series in named.items():
            if name in CATALOGUE:
                signals.setdefault(name, series)
            elif name not in used and telling(name):
                signals[OTHER + name] = series
        ours = {name for name in named if name in CATALOGUE}
        self.names = Names(
            {signal: name for signal, (name, _) in sources.items()} | {n: n for n in ours},
            sorted(name for name in named if name not in used and name not in ours),
        )
        return signals


def _measured(series: Series, source: Source, named: Mapping[str, Series]) -> Series:
    """A series without the moments at which it was not measured."""
    if source.nan == "absent":
        series = series.take(~np.isnan(series.values))
    for other, excluded in source.unless.items():
        if other in named:
            there = named[other].steps[named[other].values == excluded]
            series = series.take(~np.isin(series.steps, there))
    return series


def _repeated(named: Mapping[str, Series]) -> dict[str, float]:
    """Settings that a log repeats beside its results."""
    found = {name: s for name, s in named.items() if name.startswith(CONFIG) and len(s)}
    return {name.removeprefix(CONFIG): float(s.values[-1]) for name, s in found.items()}


def _factor(source: Source, series: Series) -> float | None:
    """What leads to our unit: a number, or one over the first value, if that can be had."""
    if not source.over_first or not len(series):
        return source.times
    first = float(series.values[0])
    return 1.0 / first if first and np.isfinite(first) else None
