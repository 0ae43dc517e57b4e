"""Why a run is as it is: causes with each piece of evidence beside its signal, and remedies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from steadyrl.core.config import flatten
from steadyrl.core.foreign_config import as_ours
from steadyrl.core.records import Diagnosis
from steadyrl.judging import Judged
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.remedies import REMEDIES
from steadyrl.views.about import signal_of


@dataclass(frozen=True, slots=True)
class EvidenceShown:
    """A sentence, whether it speaks for the cause, and the signal that shows it."""

    text: str
    speaks_for: bool
    signal: str | None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting, before and after."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RemedyShown:
    """What would be done about it, in this very run."""

    id: str
    name: str
    effect: str
    safety: str
    changes: Sequence[SettingChange]
    said: str  # the same in words, under the names of the program that trained it


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause, how sure it is, and what to do."""

    id: str
    name: str
    confidence: float
    likelihood: str
    explanation: str
    onset: int  # in the run's unit
    explains: Sequence[str]
    evidence: Sequence[EvidenceShown]
    would_decide: str
    remedies: Sequence[RemedyShown]


def causes_of(
    diagnoses: Sequence[Diagnosis], found: Judged, recorded: Collection[str]
) -> list[Cause]:
    """Most likely first."""
    explanations = {cause.id: cause.explanation for cause in CAUSES}
    settings = {name for name, _ in flatten(found.config.shown())}
    findings = found.verdict.findings
    causes = []
    for diagnosis in diagnoses:
        sides = [(text, True) for text in diagnosis.evidence_for]
        sides += [(text, False) for text in diagnosis.evidence_against]
        explained = [f.taken for f in findings if f.rule in diagnosis.explains]
        causes.append(
            Cause(
                id=diagnosis.cause,
                name=diagnosis.name,
                confidence=diagnosis.confidence,
                likelihood=diagnosis.likelihood,
                explanation=explanations.get(diagnosis.cause, ""),
                onset=min(explained, default=0),
                explains=diagnosis.explains,
                evidence=[
                    EvidenceShown(text, side, signal_of(text, findings, recorded, settings))
                    for text, side in sides
                ],
                would_decide=diagnosis.would_decide,
                remedies=[_remedy(identity, found) for identity in diagnosis.remedies],
            )
        )
    return causes


def _remedy(identity: str, found: Judged) -> RemedyShown:
    remedy, config = REMEDIES[identity], found.config
    ours = as_ours(config, {})
    changes = (remedy.proposal(ours, found.window) or {}) if ours is not None else {}
    shown = [
        SettingChange(name, config.value_of(name), after)
        for name, after in changes.items()
        if config.value_of(name) != after
    ]
    return RemedyShown(
        id=identity,
        name=remedy.name,
        effect=remedy.effect,
        safety=remedy.safety.replace("_", " "),
        changes=shown if ours is config else [],
        said=found.verdict.changes.get(identity, ""),
    )
