"""Findings and causes in words, for the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from steadyrl.core.records import Diagnosis, Finding, Intervention, told_change
from steadyrl.core.traits import Unit
from steadyrl.report.fitting import EVIDENCE, print_table, say
from steadyrl.stability.diagnose import deciding
from steadyrl.stability.remedies import REMEDIES
from steadyrl.verdict import Verdict
from steadyrl.views.wording import next_command

FEW = 5  # ways to decide that are named unasked
COLORS = {"severe": "red", "warning": "yellow", "note": "cyan"}


def print_verdict(verdict: Verdict, console: Console, *, verbose: bool = False) -> None:
    """One run in full; `verbose` names every signal that was not measured."""
    source = f"  [dim]({escape(verdict.source)})[/]" * bool(verdict.source)
    say(console, f"[bold]{escape(verdict.run)}[/]  {escape(verdict.sentence)}{source}")
    for line in head(verdict):
        say(console, f"  [dim]{escape(line)}[/]", hanging=0)
    for intervention in verdict.interventions:
        print_intervention(intervention, console)
    _print_history(verdict, console)
    print_findings(_events(verdict.present), console, verdict.unit)
    print_diagnoses(verdict.diagnoses, console, verdict.changes)
    if any(finding.severity != "note" for finding in verdict.present) and not verdict.diagnoses:
        _print_undecided(verdict.undecided, console, verbose)
    if verdict.machine:
        console.print("  the machine, not the training:", highlight=False)
        print_findings(verdict.machine, console, verdict.unit)
        print_diagnoses(verdict.machine_diagnoses, console, verdict.changes)
    for problem in verdict.problems:
        say(console, f"  [yellow]log[/] {escape(problem)}")
    if verdict.settings_changed:
        say(console, f"[dim]{escape(told_settings(verdict))}[/]")
    if verdict.block > 1:
        console.print(f"[dim]detectors looked at blocks of {verdict.block} Steps[/]")
    if verdict.unmeasured and verdict.steps:
        _print_unmeasured(verdict, console, verbose)
    command, does = next_command(verdict)
    say(console, f"next  [bold]{escape(command)}[/]  [dim]{escape(does)}[/]")


def _print_undecided(ways: Sequence[str], console: Console, verbose: bool) -> None:
    """What would tell the cause; of many ways the first few."""
    console.print("cause unknown; this would decide:")
    shown = ways if verbose else ways[:FEW]
    for line in shown:
        say(console, f"  - {escape(line)}")
    if left := len(ways) - len(shown):
        say(console, f"  [dim]{left} more (--verbose names them)[/]")


def _events(findings: Sequence[Finding]) -> list[Finding]:
    """One per rule, in order of appearance: what it said last, which is the most severe."""
    return list({finding.rule: finding for finding in findings}.values())


def head(verdict: Verdict) -> list[str]:
    """What was read of another program's run, how its score went, and how many rules could look."""
    able, rules = verdict.looked
    found = "" if verdict.present else f"; nothing found by {able} of {rules} rules"
    about = [verdict.about] if verdict.about else []
    far = [verdict.reference] if verdict.reference else []
    return [*about, f"{verdict.score_told}{found}", *far] if verdict.steps else about


def _print_history(verdict: Verdict, console: Console) -> None:
    """What was left behind, a line each."""
    passed = [f"{f.rule} {f.name}: {f.message}" for f in verdict.history]
    at = [f"{verdict.unit.one} {f.taken:,}: " for f in verdict.history]
    told = [a + text for a, text in zip(at, passed, strict=True)]
    for line in [*verdict.standing.told_dips(verdict.unit), *told]:
        say(console, f"  [dim]passed  {escape(line)}[/]")


def told_settings(verdict: Verdict) -> str:
    """Which settings are no longer those of config.yaml."""
    changed = (told_change(name, *pair) for name, pair in verdict.settings_changed.items())
    return f"changed since the start: {', '.join(changed)}"


def _print_unmeasured(verdict: Verdict, console: Console, verbose: bool) -> None:
    """How many rules could not look, and what would let them; which, only if asked."""
    names = sorted({name for lacking in verdict.unmeasured.values() for name in lacking})
    blind = len(verdict.unmeasured)
    rest = "" if verbose else " (--verbose names them)"
    if not verdict.advice:
        listed = f": {', '.join(names)}" if verbose else rest
        said = f"{blind} rules could not look for want of {len(names)} signals{listed}"
        say(console, f"[dim]{said}[/]")
        return
    console.print(f"[dim]{blind} rules could not look; to let them:[/]", highlight=False)
    for text in dict.fromkeys(verdict.advice.values()):
        wanted = [name for name in names if verdict.advice.get(name) == text]
        say(console, f"[dim]  {escape(text)}[/]")
        many = f"{len(wanted)} signal{'s' if len(wanted) != 1 else ''}{rest}"
        gives = ", ".join(wanted) if verbose else many
        say(console, f"[dim]      gives {gives}[/]")
        rest = ""


def print_intervention(intervention: Intervention, console: Console) -> None:
    """What the guard did, and on which finding."""
    say(console, f"  [magenta]{escape(intervention.sentence)}[/]: {escape(intervention.because)}")


def print_findings(findings: Sequence[Finding], console: Console, unit: Unit) -> None:
    """Finding by finding, in order of appearance."""
    for finding in findings:
        color = COLORS[finding.severity]
        say(
            console,
            f"  [{color}]{unit.one} {finding.taken:>9,}  {finding.rule} {finding.name}[/]  "
            f"{escape(finding.message)}",
        )


def print_diagnoses(
    diagnoses: Sequence[Diagnosis], console: Console, changes: Mapping[str, str] | None = None
) -> None:
    """Cause by cause, most likely first, with evidence and remedies (and what they change here)."""
    for rank, diagnosis in enumerate(diagnoses):
        title = diagnosis.likelihood if rank == 0 else "or"
        console.print(
            f"  {title} [bold]{diagnosis.cause} {diagnosis.name}[/] ({diagnosis.confidence:.2f})",
            highlight=False,
        )
        for text in diagnosis.evidence_for:
            say(console, f"      for      {escape(text)}", hanging=EVIDENCE)
        for text in diagnosis.evidence_against:
            say(console, f"      against  {escape(text)}", hanging=EVIDENCE)
        for identity in diagnosis.remedies:
            remedy = REMEDIES[identity]
            safety = remedy.safety.replace("_", " ")
            say(
                console,
                f"      remedy   {identity} {remedy.name} ({safety}): "
                f"{escape((changes or {}).get(identity, remedy.effect))}",
                hanging=EVIDENCE,
            )
    if undecided := deciding(diagnoses):
        say(console, f"  {escape(undecided)}")


def _onset(verdict: Verdict) -> str:
    """Where the first finding stands that the likeliest cause explains."""
    if not verdict.findings:
        return ""
    explained = verdict.diagnoses[0].explains if verdict.diagnoses else ()
    steps = [f.taken for f in verdict.findings if not explained or f.rule in explained]
    return f"{min(steps):,}"


def print_verdicts(verdicts: Sequence[Verdict], console: Console) -> None:
    """Many runs, a line each."""
    rows = []
    paths = [Path(verdict.run).absolute() for verdict in verdicts]
    shared = Path(os.path.commonpath([path.parent for path in paths]))
    for verdict, path in zip(verdicts, paths, strict=True):
        first = verdict.diagnoses[0] if verdict.diagnoses else None
        cause = f"{first.cause} {first.name}" if first else "unknown" if verdict.findings else ""
        confidence = f"{first.confidence:.2f}" if first else ""
        name = escape(str(path.relative_to(shared)))
        rows.append((name, verdict.headline, _onset(verdict), cause, confidence))
    print_table(console, ("run", "verdict", "first sign", "cause", "confidence"), rows)
