"""Findings and causes in words, for the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from steadyrl.core.records import Diagnosis, Finding, Intervention, told_change
from steadyrl.core.traits import Unit
from steadyrl.stability.diagnose import deciding
from steadyrl.stability.remedies import REMEDIES
from steadyrl.verdict import Verdict

COLORS = {"severe": "red", "warning": "yellow", "note": "cyan"}


def print_verdict(verdict: Verdict, console: Console, *, verbose: bool = False) -> None:
    """One run in full; `verbose` names every signal that was not measured."""
    source = f"  [dim]({escape(verdict.source)})[/]" if verdict.source else ""
    console.print(
        f"[bold]{escape(verdict.run)}[/]  {escape(verdict.sentence)}{source}",
        highlight=False,
        soft_wrap=True,
    )
    for line in head(verdict):
        console.print(Padding(f"[dim]{escape(line)}[/]", (0, 0, 0, 2)), highlight=False)
    for intervention in verdict.interventions:
        print_intervention(intervention, console)
    _print_history(verdict, console)
    print_findings(_events(verdict.present), console, verdict.unit)
    print_diagnoses(verdict.diagnoses, console, verdict.changes)
    if verdict.present and not verdict.diagnoses:
        console.print("cause unknown; this would decide:")
        for line in verdict.undecided:
            console.print(f"  - {line}", highlight=False)
    if verdict.machine:
        console.print("  the machine, not the training:", highlight=False)
        print_findings(verdict.machine, console, verdict.unit)
        print_diagnoses(verdict.machine_diagnoses, console, verdict.changes)
    for problem in verdict.problems:
        console.print(f"  [yellow]log[/] {escape(problem)}", highlight=False, soft_wrap=True)
    if verdict.settings_changed:
        console.print(f"[dim]{escape(told_settings(verdict))}[/]", highlight=False, soft_wrap=True)
    if verdict.block > 1:
        console.print(f"[dim]detectors looked at blocks of {verdict.block} Steps[/]")
    if verdict.unmeasured and verdict.steps:
        _print_unmeasured(verdict, console, verbose)


def _events(findings: Sequence[Finding]) -> list[Finding]:
    """One per rule, in order of appearance: what it said last, which is the most severe."""
    return list({finding.rule: finding for finding in findings}.values())


def head(verdict: Verdict) -> list[str]:
    """What was read of another program's run, how its score went, and how many rules could look."""
    able, rules = verdict.looked
    found = "" if verdict.present else f"; nothing found by {able} of {rules} rules"
    about = [verdict.about] if verdict.about else []
    far = [verdict.reference] if verdict.reference else []
    return [*about, f"{verdict.standing.sentence}{found}", *far] if verdict.steps else about


def _print_history(verdict: Verdict, console: Console) -> None:
    """What was left behind, a line each."""
    passed = [f"{f.rule} {f.name}: {f.message}" for f in verdict.history]
    at = [f"{verdict.unit.one} {f.taken:,}: " for f in verdict.history]
    told = [a + text for a, text in zip(at, passed, strict=True)]
    for line in [*verdict.standing.told_dips(verdict.unit), *told]:
        console.print(f"  [dim]passed  {escape(line)}[/]", highlight=False, soft_wrap=True)


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
        console.print(f"[dim]{said}[/]", highlight=False, soft_wrap=True)
        return
    console.print(f"[dim]{blind} rules could not look; to let them:[/]", highlight=False)
    for text in dict.fromkeys(verdict.advice.values()):
        wanted = [name for name in names if verdict.advice.get(name) == text]
        console.print(f"[dim]  {escape(text)}[/]", highlight=False, soft_wrap=True)
        gives = ", ".join(wanted) if verbose else f"{len(wanted)} signals{rest}"
        console.print(f"[dim]      gives {gives}[/]", highlight=False, soft_wrap=True)
        rest = ""


def print_intervention(intervention: Intervention, console: Console) -> None:
    """What the guard did, and on which finding."""
    console.print(
        f"  [magenta]{escape(intervention.sentence)}[/]: {escape(intervention.because)}",
        highlight=False,
        soft_wrap=True,
    )


def print_findings(findings: Sequence[Finding], console: Console, unit: Unit) -> None:
    """Finding by finding, in order of appearance."""
    for finding in findings:
        color = COLORS[finding.severity]
        console.print(
            f"  [{color}]{unit.one} {finding.taken:>9,}  {finding.rule} {finding.name}[/]  "
            f"{escape(finding.message)}",
            highlight=False,
            soft_wrap=True,
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
            console.print(f"      for      {escape(text)}", highlight=False, soft_wrap=True)
        for text in diagnosis.evidence_against:
            console.print(f"      against  {escape(text)}", highlight=False, soft_wrap=True)
        for identity in diagnosis.remedies:
            remedy = REMEDIES[identity]
            safety = remedy.safety.replace("_", " ")
            console.print(
                f"      remedy   {identity} {remedy.name} ({safety}): "
                f"{escape((changes or {}).get(identity, remedy.effect))}",
                highlight=False,
                soft_wrap=True,
            )
    if undecided := deciding(diagnoses):
        console.print(f"  {escape(undecided)}", highlight=False, soft_wrap=True)


def _onset(verdict: Verdict) -> str:
    """Where the first finding stands that the likeliest cause explains."""
    if not verdict.findings:
        return ""
    explained = verdict.diagnoses[0].explains if verdict.diagnoses else ()
    steps = [f.taken for f in verdict.findings if not explained or f.rule in explained]
    return f"{min(steps):,}"


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Many runs, a line each."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("run", "verdict", "since", "cause", "confidence"):
        table.add_column(title, overflow="fold")
    paths = [Path(verdict.run).absolute() for verdict in verdicts]
    shared = Path(os.path.commonpath([path.parent for path in paths]))
    for verdict, path in zip(verdicts, paths, strict=True):
        first = verdict.diagnoses[0] if verdict.diagnoses else None
        table.add_row(
            escape(str(path.relative_to(shared))),
            verdict.headline,
            _onset(verdict),
            f"{first.cause} {first.name}" if first else ("unknown" if verdict.findings else ""),
            f"{first.confidence:.2f}" if first else "",
        )
    return table
