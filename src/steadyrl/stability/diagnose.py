"""From findings to ranked causes.

A cause is considered if it explains at least one finding. One that explains only what more
confident ones explain already is a consequence, and is left out if the first is nearly certain or
far more confident. Below FLOOR nobody knows: then the answer is empty, and `undecided` says what
would decide. What evidence adds up to is a weight; the confidence that is told is how often answers
of such a weight were right (confidence.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from steadyrl.core.foreign_config import ForeignConfig
from steadyrl.core.records import Diagnosis
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.confidence import frequency
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rules import Case, Cause, Weight, concerned, of_another_kind

FLOOR = 0.2
NEARLY_CERTAIN = 0.9
CONSEQUENCE_GAP = 0.3
APART = 0.1  # in weight: causes that are nearer cannot be told apart
DECIDED = "It is decided"  # of causes that their finding proves: without it they are out


def explain_findings(case: Case) -> list[Diagnosis]:
    """Diagnoses by falling confidence, consequences removed."""
    seen = {finding.rule for finding in case.findings}
    weighed = [(cause, _weigh(cause, case)) for cause in CAUSES if _possible(cause, case)]
    # Nothing is accused without anything that speaks for it.
    known = [
        (c, weight) for c, weight in weighed if weight.confidence >= FLOOR and weight.evidence_for
    ]
    # A slow machine is worth knowing, but it never explains what training does.
    known.sort(key=lambda pair: (pair[0].concerns == "machine", -pair[1].confidence))
    diagnoses: list[Diagnosis] = []
    explained: set[str] = set()
    for cause, weight in known:
        own = {rule for rule in cause.explains if rule in seen}
        consequence = bool(diagnoses) and own <= explained
        behind = bool(diagnoses) and diagnoses[0].weight - weight.confidence >= CONSEQUENCE_GAP
        if consequence and (behind or diagnoses[0].weight >= NEARLY_CERTAIN):
            continue
        diagnoses.append(_diagnosis(case, cause, weight, own))
        explained |= own
    return diagnoses


def undecided(case: Case) -> list[str]:
    """When no cause is confident enough: what would decide between those that could be."""
    asked = (cause.would_decide for cause in CAUSES if _possible(cause, case))
    return list(dict.fromkeys(text for text in asked if text and not text.startswith(DECIDED)))


def rivals(diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
    """The likeliest cause and those that the evidence does not separate from it; or none."""
    near = [d for d in diagnoses if diagnoses[0].weight - d.weight < APART]
    near = [d for d in near if set(d.explains) & set(near[0].explains)]
    return near if len(near) > 1 else []


def deciding(diagnoses: Sequence[Diagnosis]) -> str:
    """Which causes cannot be told apart, and what would decide; empty if one stands out."""
    near = rivals(diagnoses)
    if not near:
        return ""
    names = " and ".join([", ".join(d.cause for d in near[:-1]), near[-1].cause])
    asked = dict.fromkeys(d.would_decide for d in near if not d.would_decide.startswith(DECIDED))
    questions = " ".join(asked)
    return f"{names} cannot be told apart by this record" + (
        f"; this would decide: {questions}" if questions else "."
    )


def _weigh(cause: Cause, case: Case) -> Weight:
    """A cause's weight, less where it rests on signals that say less than they should."""
    weight = cause.weigh(case)
    if case.config is None:
        return weight
    measured = [
        name
        for finding in case.findings
        if finding.rule in cause.explains
        for name in finding.evidence
    ]
    doubts = {name: doubt for name in measured if (doubt := case.config.doubt(name))}
    if not doubts:
        return weight
    trust = min(trust for trust, _ in doubts.values())
    reasons = tuple(f"{name} says less here: {why}" for name, (_, why) in doubts.items())
    return Weight(
        weight.confidence * trust, weight.evidence_for, (*weight.evidence_against, *reasons)
    )


def _possible(cause: Cause, case: Case) -> bool:
    """Whether the cause exists for this algorithm and explains anything that was found."""
    explains = any(finding.rule in cause.explains for finding in case.findings)
    if not explains or not concerned(cause.traits, case.config):
        return False
    return not of_another_kind(cause.traits, case.config, case.window, strict=True)


def _diagnosis(case: Case, cause: Cause, weight: Weight, own: set[str]) -> Diagnosis:
    return Diagnosis(
        cause=cause.id,
        name=cause.name,
        confidence=round(min(frequency(weight.confidence), 0.99), 2),
        weight=round(min(weight.confidence, 0.99), 3),
        onset=min(finding.step for finding in case.findings if finding.rule in own),
        explains=tuple(sorted(own)),
        evidence_for=weight.evidence_for,
        evidence_against=weight.evidence_against,
        would_decide=cause.would_decide,
        remedies=tuple(name for name in cause.remedies if _changes_something(name, case)),
        concerns=cause.concerns,
    )


def _changes_something(identity: str, case: Case) -> bool:
    """Whether a remedy has anything to change in this run; advice, and unknown settings, may."""
    remedy, config = REMEDIES[identity], case.config
    if remedy.safety == "advice" or config is None or isinstance(config, ForeignConfig):
        return True
    return bool(remedy.proposal(config, case.window))
