"""One run as plain data: what is said of it, its curves with their bands, and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from steadyrl.core.coarsen import Columns, reduced
from steadyrl.core.records import without_nan
from steadyrl.core.run_config import RunConfig
from steadyrl.core.signals import CATALOGUE
from steadyrl.core.traits import Unit
from steadyrl.judging import Judged
from steadyrl.stability.checklists import go_through
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.score import objective, score_of
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict
from steadyrl.views import wording
from steadyrl.views.bands import Along, bands_along
from steadyrl.views.causes import Cause, causes_of
from steadyrl.views.curves import POINTS, Curve, curves_of
from steadyrl.views.facts import eta, facts_of, heard, made_with, unmeasured_of
from steadyrl.views.history import Event, Mark, abandoned, events_of, marks_of
from steadyrl.views.looked import Looked, look_at
from steadyrl.views.settings import SettingShown, settings_of

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

LENGTHS = ("eval.length_mean", "rollout.length_mean", "language.length_mean")
RETURNS = ("eval.return_mean", "rollout.return_mean")
MANY = 20_000  # Steps that the checklist looks at one by one
CHECKED = {True: "passed", False: "failed", None: "not measured"}


@dataclass(frozen=True, kw_only=True)
class FindingShown:
    """What a rule saw, what the rule is about, and whether it still stands."""

    rule: str
    name: str
    severity: str
    taken: int
    message: str
    signals: Sequence[str]
    stands: bool
    concerns: str
    symptom: str = ""
    why: str = ""

    @property
    def counts(self) -> bool:
        """Whether it stands against the training, and is more than a note."""
        return self.stands and self.concerns == "training" and self.severity != "note"


@dataclass(frozen=True, kw_only=True)
class SignalShown:
    """A recorded signal: its meaning, and when it left its band, if it did."""

    name: str
    meaning: str
    unit: str
    left: int | None = None
    rules: Sequence[str] = ()  # that spoke of it


@dataclass(frozen=True, kw_only=True)
class RunView:
    """All that a page shows of one run; curves apart, for they are most of it."""

    name: str
    path: str
    headline: str
    tone: str
    told: Sequence[str]  # what, why, what was done, how it stands
    command: str
    command_does: str
    facts: Sequence[tuple[str, str]]
    unit: Unit
    status: str
    taken: int
    budget: int
    eta_seconds: float | None
    heard: float  # seconds since the epoch
    findings: Sequence[FindingShown]
    causes: Sequence[Cause]
    machine_causes: Sequence[Cause]
    undecided: Sequence[str]
    unmeasured: Sequence[tuple[str, Sequence[str]]]  # how to record them, and which
    notes: Sequence[str]
    marks: Sequence[Mark]
    main: Sequence[Sequence[str]]  # the first charts: signals that belong together
    judged_by: str
    signals: Sequence[SignalShown]
    checklist: Sequence[tuple[str, str, str, str]]
    settings: Sequence[SettingShown]
    compared_with: str
    events: Sequence[Event]
    made_with: Sequence[str] = ()
    rule_names: Mapping[str, str] = field(default_factory=dict)  # of the rules that bands are of
    curves: Mapping[str, Curve] = field(default_factory=dict)
    bands: Mapping[str, Along] = field(default_factory=dict)
    abandoned: Sequence[Mapping[str, Curve]] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values, curves included."""
        apart = ("curves", "bands", "abandoned")
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain = {n: _plain(v) for n, v in record.items() if n not in apart}
        return {**without_nan(plain), "onset": self.onset, **self.drawn()}

    @property
    def onset(self) -> int | None:
        """Where what is wrong began."""
        return min((f.taken for f in self.findings if f.counts), default=None)

    def drawn(self) -> dict[str, Any]:
        """Curves, bands and branches that were left."""
        return {
            "curves": {name: found.to_json() for name, found in self.curves.items()},
            "bands": {name: along.to_json() for name, along in self.bands.items()},
            "abandoned": [
                {name: found.to_json() for name, found in branch.items()}
                for branch in self.abandoned
            ],
        }


def run_view(store: Recorded, name: str, *, points: int = POINTS) -> RunView:
    """Read, judge and lay out a run."""
    looked = look_at(store)
    return lay_out(store, name, looked, curves_of(store, looked.columns, points))


def lay_out(store: Recorded, name: str, looked: Looked, curves: Mapping[str, Curve]) -> RunView:
    """A judged run and its curves, as a page shows them."""
    found, columns, verdict = looked.found, looked.columns, looked.found.verdict
    detectors = Monitor(found.config).detectors
    bands = bands_along(detectors, looked.blocks, found.config.budget or None)
    taken, seconds = (columns.last.taken, columns.last.seconds) if columns else (0, 0.0)
    command, does = wording.next_command(verdict)
    findings = _findings(verdict, found)
    settings, compared_with = settings_of(store)
    judged_by = tuple(n for n in (objective(found.window), score_of(found.window)) if n)
    events, main = list(store.events()), panels_of(judged_by, found.config, curves)
    return RunView(
        name=name,
        path=str(store.path),
        headline=verdict.headline,
        tone=wording.TONES[verdict.headline],
        told=[text for text in _told(verdict) if text],
        command=command,
        command_does=does,
        facts=facts_of(store, verdict, taken, seconds),
        unit=verdict.unit,
        status=verdict.status,
        taken=taken,
        budget=found.config.budget or 0,
        eta_seconds=eta(verdict, taken, seconds, found.config.budget),
        heard=heard(store),
        findings=findings,
        causes=causes_of(verdict.diagnoses, found, curves),
        machine_causes=causes_of(verdict.machine_diagnoses, found, curves),
        undecided=list(verdict.undecided) if verdict.findings else [],
        unmeasured=unmeasured_of(verdict),
        notes=[*verdict.problems, *([verdict.about] if verdict.about else [])],
        marks=marks_of(store, verdict, columns, events),
        main=main,
        judged_by=objective(found.window),
        signals=signals_of(curves, bands, findings),
        checklist=_checklist(store, found, columns),
        settings=settings,
        compared_with=compared_with,
        events=events_of(events, columns),
        made_with=made_with(events),
        rule_names=_names(found, bands),
        curves=curves,
        bands={n: along for n, along in bands.items() if n in curves},
        abandoned=(
            abandoned(store, [name for names in main for name in names])
            if isinstance(store, RunReader)
            else []
        ),
    )


def _told(verdict: Verdict) -> list[str]:
    return [
        wording.what(verdict),
        wording.why(verdict),
        wording.done(verdict),
        wording.now(verdict),
    ]


def _names(found: Judged, bands: Mapping[str, Along]) -> dict[str, str]:
    drawn = {rule for along in bands.values() for rule in along.rules}
    return {rule.id: rule.name for rule in Monitor(found.config).detectors if rule.id in drawn}


def panels_of(
    judged_by: tuple[str, ...], config: RunConfig, curves: Mapping[str, Curve]
) -> list[list[str]]:
    """Return and length, and what the rules judge by where that is something else."""
    scores = tuple(score.signal for score in config.scores)
    panels: list[list[str]] = []
    for names in (RETURNS, judged_by, scores, LENGTHS):
        shown = {name for panel in panels for name in panel}
        panel = [name for name in dict.fromkeys(names) if name in curves and name not in shown]
        if panel:
            panels.append(panel if names in (RETURNS, LENGTHS) else panel[:1])
    return panels


def _findings(verdict: Verdict, found: Judged) -> list[FindingShown]:
    rules = {rule.id: rule for rule in Monitor(found.config).detectors}
    standing = {id(f) for f in (*verdict.present, *verdict.machine)}
    shown = []
    for f in sorted((*verdict.findings, *verdict.machine), key=lambda f: f.taken):
        rule = rules.get(f.rule)
        shown.append(
            FindingShown(
                rule=f.rule,
                name=f.name,
                severity=f.severity,
                taken=f.taken,
                message=f.message,
                signals=[name for name in f.evidence if found.window.has(name)],
                stands=id(f) in standing,
                concerns=f.concerns,
                symptom=rule.symptom if rule else "",
                why=rule.why if rule else "",
            )
        )
    return shown


def signals_of(
    curves: Mapping[str, Curve], bands: Mapping[str, Along], findings: Sequence[FindingShown]
) -> list[SignalShown]:
    """In the order in which they left their band; those that never did come last."""
    shown = []
    for name in curves:
        spoken = [f for f in findings if name in f.signals and f.counts]
        along = bands.get(name)
        left = None
        if spoken:
            first = min(f.taken for f in spoken)
            begun = along.left_before(first) if along else None
            left = first if begun is None else begun
        known = CATALOGUE.get(name)
        shown.append(
            SignalShown(
                name=name,
                meaning=known.meaning if known else "",
                unit=known.unit if known else "",
                left=left,
                rules=[f.rule for f in spoken],
            )
        )
    return sorted(shown, key=lambda s: (s.left is None, s.left or 0))


def _checklist(
    store: Recorded, found: Judged, columns: Columns | None
) -> list[tuple[str, str, str, str]]:
    """Of other programs' runs the budget is seldom known."""
    if not isinstance(store, RunReader) or not found.config.budget or columns is None:
        return []
    few = reduced(columns, max(1, -(-len(columns) // MANY)))
    lines = go_through(found.config, few, found.verdict.findings)
    return [(line.phase, CHECKED[line.passed], line.statement, line.seen) for line in lines]


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
