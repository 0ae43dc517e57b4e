"""A run's conclusion on the terminal: the learning curve and a few lines of facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steadyrl.judging import judge
from steadyrl.report.answers import answers
from steadyrl.report.findings import print_verdict
from steadyrl.report.html import write_report
from steadyrl.store.reader import RunReader

BLOCKS = " ▁▂▃▄▅▆▇█"


def print_conclusion(path: Path) -> None:
    """Curve, facts, and the path of the page that shows the rest."""
    store = RunReader.open(path)
    console = Console(highlight=False)
    steps = list(store.steps())
    evaluated = [step for step in steps if "eval.return_mean" in step.signals]
    if len(evaluated) > 1:
        returns = [step.signals["eval.return_mean"] for step in evaluated]
        console.print(f"\nmean return of {len(returns)} evaluations")
        last = evaluated[-1].taken
        console.print(curve(returns, left="0", right=store.config.unit.of(last)), markup=False)
    summary = store.summary() or {}
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("run", str(path))
    table.add_row("status", f"{summary.get('status')} {summary.get('message', '')}".strip())
    table.add_row(
        store.config.unit.many, f"{summary.get('taken', 0):,} in {summary.get('seconds', 0):,} s"
    )
    if evaluated:
        final = evaluated[-1].signals
        said = f"{final['eval.return_mean']:,.4g} ± {final['eval.return_std']:,.3g}"
        if "eval.length_mean" in final:
            said += f", episodes of {final['eval.length_mean']:,.0f} steps"
        table.add_row("last evaluation", said)
        table.add_row("best evaluation", f"{summary.get('best_return', float('nan')):,.4g}")
    for when, right in answers(steps):
        table.add_row(f"right {when}", right)
    verdict = judge(path)
    table.add_row("verdict", escape(verdict.sentence))
    table.add_row("report", str(write_report([store])))
    console.print(table)
    if verdict.headline != "healthy" or verdict.findings or verdict.machine:
        console.print()
        print_verdict(verdict, console)


def curve(
    values: Sequence[float], *, width: int = 64, height: int = 8, left: str, right: str
) -> str:
    """A block chart of a series, with the range on its left."""
    series = np.asarray(values, dtype=float)
    at = np.linspace(0, len(series) - 1, min(width, max(len(series) * 4, 32)))
    finite = np.where(np.isfinite(series), series, np.nan)
    drawn = np.interp(at, np.arange(len(series)), finite)
    low, high = float(np.nanmin(finite)), float(np.nanmax(finite))
    span = (high - low) or 1.0
    levels = np.nan_to_num((drawn - low) / span) * (height * 8 - 1) + 1
    labels = {0: f"{high:,.4g}", height - 1: f"{low:,.4g}"}
    margin = max(map(len, labels.values()))
    rows = []
    for row in range(height):
        floor = (height - 1 - row) * 8
        cells = np.clip(np.round(levels - floor), 0, 8).astype(int)
        rows.append(labels.get(row, "").rjust(margin) + " ┤" + "".join(BLOCKS[c] for c in cells))
    axis = left + right.rjust(len(at) - len(left))
    return "\n".join([*rows, " " * (margin + 2) + axis])
