"""A run's conclusion on the terminal: the learning curve and a few lines of facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.markup import escape

from steadyrl.core.numbers import amount
from steadyrl.core.records import Step
from steadyrl.judging import judge
from steadyrl.report.blocks import curve
from steadyrl.report.console import PlainConsole
from steadyrl.report.findings import print_verdict
from steadyrl.report.fitting import print_table
from steadyrl.report.html import write_report
from steadyrl.store.reader import RunReader
from steadyrl.views.answers import answers
from steadyrl.views.wording import next_command

WIDEST = 76  # of a curve


def print_conclusion(path: Path) -> str:
    """Curve, facts, and the path of the page that shows the rest. Returns the command it named."""
    store = RunReader.open(path)
    console = PlainConsole(highlight=False)
    steps = list(store.steps())
    evaluated = [step for step in steps if "eval.return_mean" in step.signals]
    if len(evaluated) > 1:
        returns = [step.signals["eval.return_mean"] for step in evaluated]
        console.print(f"\nmean return of {len(returns)} evaluations")
        right = store.config.unit.of(evaluated[-1].taken)
        drawn = curve(returns, width=min(WIDEST, console.width), left="0", right=right)
        console.print(drawn, markup=False)
    verdict = judge(path)
    facts = [
        ("run", escape(str(path))),
        *_facts(store, steps, evaluated),
        ("verdict", escape(verdict.sentence)),
        ("report", escape(str(write_report([store])))),
    ]
    print_table(console, ("", ""), facts, header=False)
    if verdict.headline != "healthy" or verdict.findings or verdict.machine:
        console.print()
        print_verdict(verdict, console)
        return next_command(verdict)[0]
    return ""


def _facts(
    store: RunReader, steps: Sequence[Step], evaluated: Sequence[Step]
) -> Iterator[tuple[str, str]]:
    """How it ended, how far it came, how good it was."""
    summary, unit = store.summary() or {}, store.config.unit
    yield "status", escape(f"{summary.get('status')} {summary.get('message', '')}".strip())
    yield unit.many, f"{summary.get('taken', 0):,} in {summary.get('seconds', 0):,} s"
    if evaluated:
        final = evaluated[-1].signals
        said = f"{amount(final['eval.return_mean'])} ± {amount(final['eval.return_std'], 3)}"
        if "eval.length_mean" in final:
            said += f", episodes of {final['eval.length_mean']:,.0f} steps"
        yield "last evaluation", said
        yield "best evaluation", amount(summary.get("best_return", float("nan")))
    yield from ((f"right {when}", right) for when, right in answers(steps))
