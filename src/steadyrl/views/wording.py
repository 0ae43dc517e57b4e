"""A run in a few sentences that a tired person understands, and the command to run next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from steadyrl.core.numbers import amount
from steadyrl.core.records import Finding, Intervention, told_change
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.diagnose import deciding
from steadyrl.verdict import Verdict

Tone = str  # good, doubtful, bad, unknown
TONES: Mapping[str, Tone] = {
    "healthy": "good",
    "recovered": "good",
    "healed": "good",
    "suspicious": "doubtful",
    "sick": "bad",
    "failed": "bad",
    "broken off": "bad",
    "cannot tell": "unknown",
}


def onset(verdict: Verdict) -> Finding | None:
    """The first finding that the likeliest cause explains; without a cause the first of all."""
    present = verdict.present
    if verdict.diagnoses:
        explained = [f for f in present if f.rule in verdict.diagnoses[0].explains]
        present = explained or present
    return min(present, key=lambda finding: finding.taken, default=None)


def what(verdict: Verdict) -> str:
    """How it stands, and since when."""
    word = verdict.headline[0].upper() + verdict.headline[1:]
    word += " so far" if verdict.status == "going" else ""
    first = onset(verdict)
    if verdict.headline in ("sick", "suspicious") and first is not None:
        worst, unit = _worst(verdict), verdict.unit.one
        sign = ""
        if first.taken < worst.taken:
            sign = f" First sign at {unit} {first.taken:,}: {first.name.replace('-', ' ')}."
        return f"{word} since {unit} {worst.taken:,}: {worst.message}.{sign}"
    sentence = verdict.sentence.replace(" -> ", " → ")
    return sentence[0].upper() + sentence[1:] + "."


def why(verdict: Verdict) -> str:
    """The likeliest cause with its confidence, or that it is not known."""
    if verdict.headline == "healed":
        return _ailment(verdict.interventions[-1])
    if not verdict.present:
        return ""
    if not verdict.diagnoses:
        return "Why is not known."
    first = verdict.diagnoses[0]
    said = "Very likely" if first.confidence >= 0.85 else first.likelihood.capitalize()
    words = first.name.replace("-", " ")
    open_question = deciding(verdict.diagnoses)
    told = f"{said} because {words} ({first.cause}, confidence {first.confidence:.2f})"
    meant = meaning(first.cause)
    return f"{told}{f': {meant}' if meant else ''}. {open_question}".rstrip()


def meaning(cause: str) -> str:
    """What a cause is, as the end of a sentence."""
    said = next((one.explanation for one in CAUSES if one.id == cause), "")
    return said[:1].lower() + said[1:].split(". ")[0].rstrip(".")


def done(verdict: Verdict) -> str:
    """What was changed meanwhile, by the guard or otherwise."""
    if verdict.headline == "healed":
        return _healing(verdict.interventions[-1])
    if verdict.interventions:
        return " ".join(f"{_capital(action.sentence)}." for action in verdict.interventions)
    others = {
        name: pair
        for name, pair in verdict.settings_changed.items()
        if not any(name in action.changes for action in verdict.interventions)
    }
    if others:
        changed = ", ".join(told_change(name, *pair) for name, pair in others.items())
        return f"Changed since the start: {changed}."
    return ""


def _ailment(action: Intervention) -> str:
    """What the guard answered to, in words."""
    rule, _, rest = action.found.partition(" ")
    name, _, message = rest.partition(": ")
    said = f"{name.replace('-', ' ')} ({rule}): {message}" if message else action.found
    return f"What was wrong at {action.unit} {action.found_at:,}: {said}."


def _healing(action: Intervention) -> str:
    """What the guard did about it, and against which cause."""
    changes = ", ".join(told_change(name, *pair) for name, pair in action.changes.items())
    why = action.because.removeprefix(f"{action.found}; ")
    why = re.sub(r" ([a-z-]+) \((\d\.\d+)\)$", _confident, why)
    back = f"back to {action.unit} {action.taken:,} and on with {changes}".replace(" -> ", " → ")
    return f"What was done: {back} ({why})."


def _confident(found: re.Match[str]) -> str:
    return f" {found[1].replace('-', ' ')}, confidence {found[2]}"


def now(verdict: Verdict) -> str:
    """How the score went, and what remains to be said."""
    if not verdict.steps:
        return ""
    said = f"{_capital(verdict.score_told)}."
    if not verdict.present and verdict.headline != "cannot tell":
        able, rules = verdict.looked
        said += f" {able} of {rules} rules could look and found nothing that stands."
    return said


def next_command(verdict: Verdict) -> tuple[str, str]:
    """A command worth typing now, and what it would do."""
    run = shlex.quote(verdict.run)
    if not verdict.ours:
        first = verdict.diagnoses[0].cause if verdict.diagnoses else None
        rule = first or next((f.rule for f in verdict.present), None)
        if rule:
            return f"steadyrl explain {rule}", "what it looks like, how it is told, what helps"
        return f"steadyrl diagnose {run} --verbose", "which signals would let more rules look"
    config = shlex.quote(f"{verdict.run}/config.yaml")
    if verdict.headline in ("sick", "suspicious", "failed") and verdict.status != "going":
        return f"steadyrl rescue {config}", "tries the remedies and proves one on fresh seeds"
    if verdict.status == "going":
        return f"steadyrl diagnose {run} --watch", "tells what is new as it is found"
    if verdict.headline == "broken off":
        return f"steadyrl train --resume {run}", "goes on exactly where it stopped"
    if verdict.headline == "cannot tell":
        return f"steadyrl checklist {run}", "what should be measured at its age"
    if verdict.learner == "language":
        return f"steadyrl export {run}", "the model as a folder that transformers loads"
    return f"steadyrl evaluate {run}", "how good the policy is on many fresh episodes"


def event_in_words(event: Mapping[str, Any]) -> str:
    """What happened, as one would say it."""
    kind = str(event.get("event", ""))
    told: dict[str, Callable[[], str]] = {
        "started": lambda: f"started with seed {event.get('seed', '?')}",
        "evaluation": lambda: f"evaluated: return {_number(event.get('eval.return_mean'))}",
        "finding": lambda: f"{event.get('rule')} {event.get('name')}: {event.get('message')}",
        "probe": lambda: f"asked: {event.get('statement')}",
        "diagnosis": lambda: (
            f"likely cause: {event.get('cause')} {event.get('name')} "
            f"({_number(event.get('confidence'))})"
        ),
        "change": lambda: (
            told_change(str(event.get("name")), event.get("before"), event.get("after"))
            + f", because {event.get('because')}"
        ),
        "action": lambda: (
            f"the guard went back to {event.get('unit', 'step')} {_number(event.get('taken'))} "
            f"with {event.get('remedy')}: {event.get('because')}"
        ),
        "forked": lambda: f"forked from {event.get('source')} with {event.get('changes')}",
        "resumed": lambda: "resumed",
        "stopped early": lambda: f"stopped early: {event.get('because')}",
    }
    say = told.get(kind)
    if say is not None:
        return say()
    rest = {name: v for name, v in event.items() if name not in ("event", "step")}
    if len(rest) == 1:
        return f"{kind}: {next(iter(rest.values()))}"
    return f"{kind}: {', '.join(f'{n} {_number(v)}' for n, v in rest.items())}" if rest else kind


def _worst(verdict: Verdict) -> Finding:
    order = {"severe": 0, "warning": 1, "note": 2}
    return min(verdict.present, key=lambda f: (order.get(f.severity, 3), f.taken))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return amount(value) if isinstance(value, float) else str(value)
