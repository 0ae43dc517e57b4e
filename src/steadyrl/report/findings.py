"""Findings and causes in words, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steadyrl.core.records import Diagnosis, Finding
from steadyrl.stability.remedies import REMEDIES
from steadyrl.verdict import Verdict

COLORS = {"severe": "red", "warning": "yellow", "note": "cyan"}


def print_verdict(verdict: Verdict, console: Console) -> None:
    """One run in full."""
    console.print(f"[bold]{escape(verdict.run)}[/]  {verdict.headline}", highlight=False)
    print_findings(verdict.findings, console)
    print_diagnoses(verdict.diagnoses, console)
    if verdict.findings and not verdict.diagnoses:
        console.print("cause unknown; this would decide:")
        for line in verdict.undecided:
            console.print(f"  - {line}", highlight=False)
    if verdict.unmeasured:
        names = sorted({name for lacking in verdict.unmeasured.values() for name in lacking})
        console.print(f"[dim]not measured: {', '.join(names)}[/]", highlight=False)


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Finding by finding, in order of appearance."""
    for finding in findings:
        color = COLORS[finding.severity]
        console.print(
            f"  [{color}]env step {finding.env_steps:>9,}  {finding.rule} {finding.name}[/]  "
            f"{escape(finding.message)}",
            highlight=False,
            soft_wrap=True,
        )


def print_diagnoses(diagnoses: Sequence[Diagnosis], console: Console) -> None:
    """Cause by cause, most likely first, with evidence and remedies."""
    for rank, diagnosis in enumerate(diagnoses):
        title = "likely" if rank == 0 else "or"
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
                f"      remedy   {identity} {remedy.name} ({safety}): {remedy.effect}",
                highlight=False,
                soft_wrap=True,
            )


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Many runs, a line each."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("run", "verdict", "onset", "cause", "confidence"):
        table.add_column(title, overflow="fold")
    for verdict in verdicts:
        first = verdict.diagnoses[0] if verdict.diagnoses else None
        table.add_row(
            verdict.run,
            verdict.headline,
            str(first.onset) if first else "",
            f"{first.cause} {first.name}" if first else ("unknown" if verdict.findings else ""),
            f"{first.confidence:.2f}" if first else "",
        )
    return table
