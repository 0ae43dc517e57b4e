"""`steadyrl milestones`: first score, average 10, 50, 100, of runs side by side."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from steadyrl.core.errors import ConfigError

EPILOG = """\
A milestone is passed when the mean of the last 100 training episodes first reaches it. The page
also has the learning curves and, for TRPO, how the line searches and the trust region went.

examples:
  steadyrl milestones runs/trpo-v1 runs/trpo-v2
  steadyrl milestones runs/ppo-cartpole-* --levels 100 200 475 --output curves.html
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print the table and write the page."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--levels", nargs="+", type=float, default=[10.0, 50.0, 100.0])
    parser.add_argument("--output", type=Path, help="page (default: RUN/milestones.html)")
    parser.add_argument("--json", action="store_true", help="print the milestones as JSON")
    arguments = parser.parse_args(argv)
    from steadyrl.core.records import without_nan
    from steadyrl.viewer.frame import write_page
    from steadyrl.views.milestones import head, measure_all, measured, milestones_page, row

    if sorted(set(arguments.levels)) != arguments.levels:
        raise ConfigError(f"levels = {arguments.levels}: give them in rising order.")
    found = measure_all(arguments.runs, arguments.levels)
    output = arguments.output or arguments.runs[0] / "milestones.html"
    page = write_page(output, milestones_page(arguments.runs, found))
    if arguments.json:
        told = [without_nan(asdict(run)) for run in found]
        sys.stdout.write(json.dumps({"runs": told, "page": str(page)}) + "\n")
        return 0
    from rich.markup import escape

    from steadyrl.report.console import PlainConsole
    from steadyrl.report.fitting import print_table

    titles = head(arguments.levels)
    rows = zip(*measured(titles, [row(run) for run in found]), strict=True)
    told = [tuple(map(escape, cells)) for cells in rows if cells[0] != "run"]
    print_table(PlainConsole(highlight=False), ("", *(run.run for run in found)), told)
    sys.stdout.write(f"curves: {page}\n")
    return 0
