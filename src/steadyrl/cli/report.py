"""`steadyrl report`: a page that opens anywhere, with every curve of the runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.cli.recorded import ABOUT_RUNS, add_run_flags, open_runs

EPILOG = f"""\
{ABOUT_RUNS}
examples:
  steadyrl report runs/ddpg-pendulum-v1-seed0
  steadyrl report runs/ddpg-* --output comparison.html
  steadyrl report logs/PPO_1
  steadyrl report losses.csv --mapping my-names.yaml --family ppo
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Write the page and say where it is."""
    add_run_flags(parser)
    parser.add_argument(
        "--output",
        type=Path,
        help="file to write (default: RUN/report.html; of several runs, a page beside the first)",
    )
    parser.add_argument("--json", action="store_true", help="print the path as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.report.html import write_report

    path = write_report(open_runs(arguments), arguments.output)
    sys.stdout.write(json.dumps({"report": str(path)}) + "\n" if arguments.json else f"{path}\n")
    return 0
