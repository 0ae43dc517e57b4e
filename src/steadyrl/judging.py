"""The one place that judges a run, from its files alone: same window, same verdict for all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steadyrl.core.choices import Family, Limits
from steadyrl.core.coarsen import Columns, coarsen
from steadyrl.core.foreign_config import ForeignConfig
from steadyrl.core.records import Evidence, Finding, Intervention, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.stability.against_others import against_others
from steadyrl.stability.diagnose import undecided
from steadyrl.stability.enough import READABLE, doubts, missing_steps, not_learned
from steadyrl.stability.limits import SETS
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.prescribe import prescriptions
from steadyrl.stability.rules import Case
from steadyrl.stability.standing import passed, standing
from steadyrl.stability.window import Window
from steadyrl.store.foreign.finding import is_own
from steadyrl.store.kept_steps import steps_of
from steadyrl.store.lock import WriterLock
from steadyrl.store.reader import RunReader
from steadyrl.verdict import UNDISTURBED, Verdict

if TYPE_CHECKING:  # readers of other programs' files are imported when there is such a file
    from steadyrl.store.foreign.run import ForeignRun

    Recorded = RunReader | ForeignRun

BLOCKS = 1000  # longer runs are looked at in blocks, each reduced as the catalogue declares
QUIET_SECONDS = 3600.0  # a record without an end that has not grown for so long is broken off


@dataclass(frozen=True)
class Judged:
    """A verdict and what it rests on: whatever proposes a remedy looks at these, as live."""

    verdict: Verdict
    window: Window
    config: RunConfig  # in force at the end
    probes: Mapping[str, Evidence]


def open_run(path: Path, *, within: Path | None = None) -> Recorded:
    """A run of ours, or what another program recorded; settings beside it only `within`."""
    if is_own(path) or not path.exists():
        return _own(path)
    from steadyrl.store.foreign.run import ForeignRun

    return ForeignRun(path, within=within)


def _own(path: Path) -> RunReader:
    return RunReader.open(path).taking_up(steps_of(path / "steps.jsonl"))


def diagnose(
    path: str | Path,
    *,
    mapping: str | Path | None = None,
    family: Family | None = None,
    total_env_steps: int = 0,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """What `steadyrl diagnose` finds in one run, ours or another program's.

    Examples:
        >>> steadyrl.diagnose(run).status
        'finished'

    `limits` are those of the run itself unless others are named. The other options are about runs
    of other programs: what names mean (a built-in table or a YAML file), which algorithm it is, its
    budget and its hyperparameters.
    """
    path = Path(path)
    if is_own(path) or not path.exists():
        return judge(_own(path), limits)
    from steadyrl.store.foreign.mapping import load_table
    from steadyrl.store.foreign.run import ForeignRun

    run = ForeignRun(
        path,
        mapping=load_table(mapping) if mapping else None,
        family=family,
        total_env_steps=total_env_steps,
        settings=dict(settings or {}),
    )
    return judge(run, limits)


def judge(run: Path | Recorded, limits: Limits | None = None) -> Verdict:
    """Judge a recorded run, by its own limits or by others."""
    return judged(run, limits).verdict


def judged(run: Path | Recorded, limits: Limits | None = None) -> Judged:
    """Judge a recorded run, and keep what it was judged by."""
    store = open_run(run) if isinstance(run, Path) else run
    if not isinstance(store, RunReader):
        return _judged_foreign(store, held_to(store.config, limits))
    config = held_to(store.config_in_force(), limits)
    return judged_as_seen(store, config, observe(store, config))


def held_to(config: RunConfig, limits: Limits | None) -> RunConfig:
    """The config by which a run is judged, if other limits than its own are wanted."""
    return config.replaced({"limits": limits}) if limits else config


def _judged_foreign(run: ForeignRun, config: RunConfig) -> Judged:
    monitor = Monitor(config)
    count = 0
    for step in run.steps():
        monitor.observe(step)
        count += 1
    lacking = sorted({name for names in monitor.unmeasured().values() for name in names})
    hints = run.mapping.advice
    return _judged(
        monitor,
        config,
        {},
        run=str(run.path),
        steps=count,
        status="recorded",
        doubts=doubts(monitor.window, monitor.detectors),
        source=run.config.source,
        problems=run.problems,
        about=run.about,
        unfinished=run.unfinished,
        advice={name: text for name in lacking if (text := hints.get(name, hints.get("default")))},
    )


def judged_as_seen(store: RunReader, config: RunConfig, seen: Observed) -> Judged:
    """The verdict on what was observed; the monitor may go on from there afterwards."""
    monitor = seen.monitor
    found = list(monitor.findings)
    add_unseen(monitor, store)
    try:
        return _with_ending(store, config, seen)
    finally:
        monitor.findings = found


def _with_ending(store: RunReader, config: RunConfig, seen: Observed) -> Judged:
    monitor, count = seen.monitor, seen.count
    summary = store.summary() or {}
    ended = summary.get("steps")
    reached = [ended if isinstance(ended, int) else 0, *store.checkpoints.steps()]
    missing = max(*reached, store.step_count(), seen.last) - seen.different
    written = count + missing
    blind = [f"{missing} of {written} Steps cannot be read"]
    enough = count >= READABLE * written
    status, message = _ending(store, summary, seen.last)
    return _judged(
        monitor,
        config,
        _probes(store),
        run=str(store.path),
        steps=count,
        status=status,
        message=message,
        doubts=doubts(monitor.window, monitor.detectors) if enough else blind,
        interventions=_interventions(store),
        settings_changed={
            name.removeprefix("known."): pair  # where other programs' settings are kept
            for name, pair in store.config.differences(store.config_in_force()).items()
        },
        problems=store.problems,
        block=seen.block,
    )


@dataclass
class Observed:
    """The run as its monitor saw it, and what there was of it."""

    monitor: Monitor
    block: int = 1  # Steps that were seen as one
    count: int = 0  # Steps
    different: int = 0  # indices among them: a Step may be there twice
    last: int = 0  # the highest index
    columns: Columns | None = None  # what was read, for who draws it
    steps: Sequence[Step] = ()  # the blocks that were seen of it

    def add(self, step: Step) -> None:
        """See one more, that comes after all others."""
        self.monitor.observe(step)
        self.count, self.different, self.last = self.count + 1, self.different + 1, step.index


def observe(store: RunReader, config: RunConfig, columns: Columns | None = None) -> Observed:
    """A recorded run, looked at as if it had been watched.

    Of a long run detectors see blocks, for a look at every Step takes them minutes; the window at
    its end is the one that a live monitor has, whatever the length. `columns`: if they were read.
    """
    monitor, columns = Monitor(config), columns or store.columns()
    if columns is None:
        return Observed(monitor)
    block = -(-len(columns) // BLOCKS)
    steps = coarsen(columns, block)
    for step in steps:
        monitor.observe(step)
    if block > 1:
        monitor.window = Window.at_end_of(columns, monitor.window.budget, config.task)
    last = max(0, int(columns.indices.max()))
    different = last - missing_steps(columns.indices)
    return Observed(monitor, block, len(columns), different, last, columns, steps)


def _judged(
    monitor: Monitor, config: RunConfig, probes: Mapping[str, Evidence], **said: Any
) -> Judged:
    """The verdict on what a monitor has seen: training and machine apart."""
    window = monitor.window
    window.ended = said["status"] != "going"
    if window.ended and isinstance(config, ForeignConfig):
        monitor.look_back()
    how = standing(window)
    if isinstance(config, ForeignConfig):
        said |= against_others(monitor, config, how, said["doubts"])
    elif how.learned == "no" and said["status"] == "finished" and config.is_a("acts"):
        said["doubts"] = [*said["doubts"], *not_learned(how)]  # silence is not health
    gone = _passed(monitor, said["status"])
    window.ended = False
    # What a run has left behind needs no cause: it stands well in spite of it.
    diagnoses = monitor.diagnose(probes, without=gone)
    findings = [f for f in monitor.findings if f.concerns == "training"]
    causes = [d for d in diagnoses if d.concerns == "training"]
    present = [f for f in findings if f.rule not in gone]
    case = Case(findings=present, window=window, config=config, probes=probes)
    verdict = Verdict(
        findings=findings,
        diagnoses=causes,
        undecided=[] if causes else undecided(case),
        unmeasured=monitor.unmeasured(),
        machine=[f for f in monitor.findings if f.concerns == "machine"],
        machine_diagnoses=[d for d in diagnoses if d.concerns == "machine"],
        unit=config.unit,
        learner=config.algorithm,
        changes=prescriptions(diagnoses, config, window, _names_there(config)),
        standing=how,
        passed=gone,
        looked=monitor.able(),
        **said,
    )
    return Judged(verdict, window, config, probes)


def _names_there(config: RunConfig) -> Mapping[str, str]:
    """What the program that trained the run calls our settings."""
    if not config.recorded_by:
        return {}
    from steadyrl.store.foreign.mapping import names_of_settings

    return names_of_settings(config)


def _passed(monitor: Monitor, status: str) -> set[str]:
    """Rules whose findings a run has left behind; one that failed has left nothing behind."""
    if not monitor.window.ended or status not in UNDISTURBED:
        return set()
    theirs = isinstance(monitor.config, ForeignConfig)
    rules = [rule for rule in monitor.detectors if rule.concerns == "training"]
    gone = passed(rules, monitor.findings, monitor.window, foreign=theirs)
    return gone - monitor.certain


def _ending(store: RunReader, summary: Mapping[str, Any], last: int) -> tuple[str, str]:
    """How the run ended, and why; a summary with Steps after it is that of an earlier part."""
    ended = summary.get("steps")
    if summary and not (isinstance(ended, int) and last > ended):
        return str(summary.get("status")), str(summary.get("message") or "")
    return ("broken off", "its record has no end") if is_left(store.path) else ("going", "")


def is_left(run: Path) -> bool:
    """Whether nobody writes it any more."""
    files = [run / name for name in ("steps.jsonl", "events.jsonl")]
    touched = max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
    return time.time() - touched >= QUIET_SECONDS or WriterLock(run).deserted


def _since_last_action(store: RunReader, kind: str) -> list[dict[str, Any]]:
    """Events of a kind, but for those before the guard went back and took another way."""
    found: list[dict[str, Any]] = []
    for event in store.events():
        if event["event"] == "action":
            found = []
        elif event["event"] == kind:
            found.append(event)
    return found


def add_unseen(monitor: Monitor, store: RunReader) -> None:
    """Findings recorded while training that the Steps alone do not show any more.

    A run may diverge between two Steps, and a long run is looked at in blocks. What was found
    before the guard went back and took another way is history, not a verdict.
    """
    recorded = [Finding.from_json(event) for event in _since_last_action(store, "finding")]
    seen = {finding.rule for finding in monitor.findings}
    if monitor.config is not None and monitor.config.limits != store.config.limits:
        seen |= SETS[store.config.limits].keys()  # found by limits that are not asked for
    monitor.findings += [finding for finding in recorded if finding.rule not in seen]


def _probes(store: RunReader) -> dict[str, Evidence]:
    """The newest answers of the probes that were asked while training."""
    answers: dict[str, Evidence] = {}
    for event in _since_last_action(store, "probe"):
        known = ("event", "step", "probe", "statement")
        values = {name: float(value) for name, value in event.items() if name not in known}
        answers[event["probe"]] = Evidence(event["probe"], event["statement"], values)
    return answers


def _interventions(store: RunReader) -> list[Intervention]:
    """What the guard did, in order."""
    return [Intervention.from_json(event) for event in store.events() if event["event"] == "action"]
