"""`steadyrl diagnose`: what went wrong in recorded runs, and why."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from steadyrl.report.findings import print_verdict, verdict_table
from steadyrl.verdict import judge

EPILOG = """\
examples:
  steadyrl diagnose runs/ddpg-residualcontrol-v0-seed0
  steadyrl diagnose runs/* --strict
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Judge each run; exit 1 with --strict if any is not healthy."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--strict", action="store_true", help="exit 1 on any warning or worse")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    verdicts = [judge(run) for run in arguments.runs]
    if arguments.json:
        sys.stdout.write(json.dumps([verdict.to_json() for verdict in verdicts]) + "\n")
    else:
        console = Console()
        for verdict in verdicts:
            print_verdict(verdict, console)
        if len(verdicts) > 1:
            console.print(verdict_table(verdicts))
    return int(arguments.strict and any(v.headline != "healthy" for v in verdicts))
