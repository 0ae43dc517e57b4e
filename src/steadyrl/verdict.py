"""A recorded run's verdict: findings and causes, worked out again from its files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steadyrl.core.coarsen import coarsen
from steadyrl.core.configs.foreign import Family, ForeignConfig
from steadyrl.core.configs.run import RunConfig
from steadyrl.core.records import Diagnosis, Evidence, Finding
from steadyrl.stability.diagnose import undecided
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.prescribe import prescriptions
from steadyrl.stability.rules import Case
from steadyrl.store.foreign.mapping import built_in, load_table
from steadyrl.store.foreign.run import ForeignRun, is_own
from steadyrl.store.run_directory import RunDirectory

Recorded = RunDirectory | ForeignRun

BLOCKS = 1000  # longer runs are looked at in blocks, each reduced as the catalogue declares


@dataclass(frozen=True)
class Verdict:
    """What became of a run, and why."""

    run: str
    steps: int
    findings: Sequence[Finding]
    diagnoses: Sequence[Diagnosis]
    undecided: Sequence[str]
    unmeasured: dict[str, list[str]]
    source: str = ""  # which program recorded it, if another
    problems: Sequence[str] = ()  # what was not intact in its files
    advice: Mapping[str, str] = field(default_factory=dict)  # how to record a missing signal
    changes: Mapping[str, str] = field(default_factory=dict)  # by remedy: settings, before -> after

    @property
    def headline(self) -> str:
        """One word for tables."""
        if not self.steps and not self.findings:
            return "not measured"
        severities = {finding.severity for finding in self.findings}
        if "severe" in severities:
            return "sick"
        return "suspicious" if "warning" in severities else "healthy"

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "run": self.run,
            "verdict": self.headline,
            "steps": self.steps,
            "findings": [finding.to_json() for finding in self.findings],
            "diagnoses": [diagnosis.to_json() for diagnosis in self.diagnoses],
            "undecided": list(self.undecided),
            "unmeasured": self.unmeasured,
            "source": self.source,
            "problems": list(self.problems),
            "advice": dict(self.advice),
            "changes": dict(self.changes),
        }


def open_run(path: Path) -> Recorded:
    """A run of ours, or what another program recorded."""
    if is_own(path) or not path.exists():
        return RunDirectory.open(path)
    return ForeignRun(path)


def diagnose(
    path: str | Path,
    *,
    mapping: str | Path | None = None,
    family: Family | None = None,
    total_env_steps: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Verdict:
    """What `steadyrl diagnose` finds in one run, ours or another program's.

    The options are about runs of other programs: what names mean (a built-in table or a YAML file),
    which algorithm it is, its budget and its hyperparameters.
    """
    path = Path(path)
    if is_own(path) or not path.exists():
        return judge(RunDirectory.open(path))
    run = ForeignRun(
        path,
        mapping=load_table(mapping) if mapping else None,
        family=family,
        total_env_steps=total_env_steps,
        settings=dict(settings or {}),
    )
    return judge(run)


def judge(run: Path | Recorded) -> Verdict:
    """Judge a recorded run."""
    store = open_run(run) if isinstance(run, Path) else run
    return _judge_own(store) if isinstance(store, RunDirectory) else _judge_foreign(store)


def _judge_foreign(run: ForeignRun) -> Verdict:
    monitor = Monitor(run.config)
    count = 0
    for step in run.steps():
        monitor.observe(step)
        count += 1
    unmeasured = monitor.unmeasured()
    lacking = sorted({name for names in unmeasured.values() for name in names})
    hints = run.mapping.advice
    return Verdict(
        run=str(run.path),
        steps=count,
        findings=monitor.findings,
        **_explained(monitor, run.config, {}),
        unmeasured=unmeasured,
        source=run.config.source,
        problems=run.problems,
        advice={name: text for name in lacking if (text := hints.get(name, hints.get("default")))},
    )


def _explained(
    monitor: Monitor, config: RunConfig, probes: Mapping[str, Evidence]
) -> dict[str, Any]:
    diagnoses = monitor.diagnose(probes)
    case = Case(findings=monitor.findings, window=monitor.window, config=config)
    return {
        "diagnoses": diagnoses,
        "undecided": [] if diagnoses else undecided(case),
        "changes": prescriptions(diagnoses, config, monitor.window, names_of_settings(config)),
    }


def names_of_settings(config: RunConfig) -> Mapping[str, str]:
    """What the program that trained the run calls our settings."""
    source = config.source if isinstance(config, ForeignConfig) else ""
    table = next((t for t in built_in().values() if source and source.startswith(t.name)), None)
    return table.settings if table else {}


def _judge_own(store: RunDirectory) -> Verdict:
    count = store.step_count()
    monitor = Monitor(store.config)
    for step in coarsen(store.step_records(), -(-count // BLOCKS)) if count else ():
        monitor.observe(step)
    _add_unseen(monitor, store)
    return Verdict(
        run=str(store.path),
        steps=count,
        findings=monitor.findings,
        **_explained(monitor, store.config, _probes(store)),
        unmeasured=monitor.unmeasured(),
    )


def _add_unseen(monitor: Monitor, store: RunDirectory) -> None:
    """Findings recorded while training that the Steps alone do not show any more.

    A run may diverge between two Steps, and a long run is looked at in blocks. What was found
    before the guard went back and took another way is history, not a verdict.
    """
    recorded: list[Finding] = []
    for event in store.events():
        if event["event"] == "action":
            recorded = []
        elif event["event"] == "finding":
            record = {name: value for name, value in event.items() if name != "event"}
            recorded.append(Finding.from_json(record))
    seen = {finding.rule for finding in monitor.findings}
    monitor.findings += [finding for finding in recorded if finding.rule not in seen]


def _probes(store: RunDirectory) -> dict[str, Evidence]:
    """The newest answers of the probes that were asked while training."""
    answers: dict[str, Evidence] = {}
    for event in store.events():
        if event["event"] == "action":  # the run went another way
            answers = {}
        elif event["event"] == "probe":
            known = ("event", "step", "probe", "statement")
            values = {name: float(v) for name, v in event.items() if name not in known}
            answers[event["probe"]] = Evidence(event["probe"], event["statement"], values)
    return answers
