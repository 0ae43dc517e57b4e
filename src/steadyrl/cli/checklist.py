"""`steadyrl checklist`: is a run as healthy as it should be at its age?"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from steadyrl.cli.recorded import add_limits_flag

EPILOG = """\
Each phase (before; early, the first 15 % of the budget; middle, to 60 %; late) has its own list.
An item is passed, failed or not measured. Exits 1 with --strict if any failed.

examples:
  steadyrl checklist runs/ppo-cartpole-v1-seed0
  steadyrl checklist runs/trpo-breakout --strict
"""

MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[dim]-[/]"}


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print the list of a run."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--strict", action="store_true", help="exit 1 if anything failed")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    add_limits_flag(parser)
    arguments = parser.parse_args(argv)
    from steadyrl.judging import judged
    from steadyrl.stability.checklists import PHASES, go_through
    from steadyrl.store.reader import RunReader

    store = RunReader.open(arguments.run)
    found = judged(store, arguments.limits)
    lines = go_through(found.config, store.columns(), found.verdict.findings)
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(line) for line in lines]) + "\n")
    else:
        from rich.markup import escape

        from steadyrl.report.console import PlainConsole
        from steadyrl.report.fitting import print_table

        console = PlainConsole(highlight=False)
        for phase in PHASES:
            rows = [
                (MARKS[line.passed], escape(line.statement), f"[dim]{escape(line.seen)}[/]")
                for line in lines
                if line.phase == phase
            ]
            if rows:
                console.print(f"[bold]{phase}[/]")
                print_table(console, ("", "", ""), rows, header=False)
        failed = sum(line.passed is False for line in lines)
        asked = sum(line.passed is not None for line in lines)
        console.print(f"{asked - failed} of {asked} passed, {len(lines) - asked} not measured")
    return int(arguments.strict and any(line.passed is False for line in lines))
