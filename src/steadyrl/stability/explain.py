"""A rule's text as Markdown, from the rule itself: what docs, pages and the command line show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steadyrl.core.choices import RULE_KINDS
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.environment_rules import QUESTIONS, Question
from steadyrl.stability.limits import sets_of
from steadyrl.stability.probes import PROBES
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rule_texts import RuleText, by_id_or_name
from steadyrl.stability.rules import Cause, Check, Detector, Probe, Remedy

Rule = Detector | Cause | Remedy | Probe | Check | Question

KINDS = dict(zip((Check, Detector, Cause, Remedy, Probe, Question), RULE_KINDS, strict=True))


def all_rules() -> Iterator[Rule]:
    """Every rule: checks, detectors, causes, remedies, probes, questions to environments."""
    yield from CHECKS
    yield from (*DEFAULT, *OPTIONAL)
    yield from CAUSES
    yield from REMEDIES.values()
    yield from PROBES
    yield from QUESTIONS


def find_rule(identity: str) -> Rule:
    """A rule by its id or its name."""
    return by_id_or_name(identity, all_rules())


def headline(rule: Rule) -> str:
    """One sentence: what the rule is about."""
    match rule:
        case Detector():
            return rule.symptom
        case Cause():
            return rule.explanation
        case Remedy():
            return rule.effect
        case Probe():
            return rule.question
        case Check():
            return rule.concern
        case Question():
            return rule.asks


def explain(rule: Rule) -> str:
    """The rule's whole text as Markdown."""
    lines = [f"# {rule.id} {rule.name}", "", f"*{KINDS[type(rule)]}*", ""]
    for title, text in sections(rule):
        lines += [f"**{title}.** {text}", ""]
    return "\n".join(lines)


def sections(rule: Rule) -> list[tuple[str, str]]:
    """The parts of a rule's text by their titles; none is empty."""
    references = "; ".join(getattr(rule, "references", ()))
    return [(title, text) for title, text in (*_sections(rule), ("References", references)) if text]


def texts_of_rules() -> list[RuleText]:
    """What every rule says of itself now: what the package is to carry."""
    return [
        RuleText(rule.id, rule.name, KINDS[type(rule)], headline(rule), explain(rule))
        for rule in all_rules()
    ]


def _sections(rule: Rule) -> Iterator[tuple[str, str]]:
    match rule:
        case Detector():
            limits = _numbers(rule.limits)
            yield "Symptom", rule.symptom
            yield "Why it matters", rule.why
            yield "Severity", rule.severity
            yield "Concerns", "" if rule.concerns == "training" else "the machine, not the training"
            yield "Reads", ", ".join((*rule.reads, " or ".join(rule.any_of))).strip(", ")
            yield "Limits", limits
            for name, changed in sets_of(rule).items():
                yield f"With --limits {name}", _numbers(changed) or "it is on"
            yield "Calibrated on", rule.calibrated_on
            yield "False alarms", rule.false_alarms
            yield "Explained by", _listed(c.id for c in CAUSES if rule.id in c.explains)
        case Cause():
            yield "Explanation", rule.explanation
            yield "Evidence for", rule.evidence_for
            yield "Evidence against", rule.evidence_against
            yield "What would decide", rule.would_decide
            yield "Explains", _listed(rule.explains)
            yield "Remedies", _listed(rule.remedies)
        case Remedy():
            yield "Effect", rule.effect
            yield "Safety", rule.safety.replace("_", " ")
            yield (
                "Begins anew",
                "yes: old experience contradicts the change" if rule.restart else "no",
            )
            yield "Side effects", rule.side_effects
            yield "Against", _listed(c.id for c in CAUSES if rule.id in c.remedies)
        case Probe():
            yield "Question", rule.question
            yield "Cost", rule.cost
        case Check():
            yield "Concern", rule.concern
            yield "Why it matters", rule.why
            yield "Severity", rule.severity
            yield "Remedy", rule.remedy
        case Question():
            yield "Question to an environment", rule.asks
            yield "Why it matters", rule.why
            yield "Severity", rule.severity
            yield "Remedy", rule.remedy
            yield "False alarms", rule.false_alarms


def _numbers(limits: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in limits.items())


def _listed(identities: Iterator[str] | tuple[str, ...]) -> str:
    names = {rule.id: rule.name for rule in all_rules()}
    return ", ".join(f"{identity} {names.get(identity, '')}" for identity in identities)
