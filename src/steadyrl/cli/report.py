"""`steadyrl report`: a page that opens anywhere, of runs or of what an experiment found."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.cli.recorded import ABOUT_RUNS, add_run_flags, open_runs
from steadyrl.core.printable import printable

EPILOG = f"""\
{ABOUT_RUNS}
examples:
  steadyrl report runs/ddpg-pendulum-v1-seed0
  steadyrl report runs/ddpg-* --output comparison.html
  steadyrl report runs/demo                  a rescue, ladder, comparison, study or fault bench
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
    path = _result(arguments.runs, arguments.output) or _runs(arguments)
    told = json.dumps({"report": str(path)}) if arguments.json else printable(str(path))
    sys.stdout.write(f"{told}\n")
    return 0


def _result(named: list[Path], output: Path | None) -> Path | None:
    """The page of a rescue, ladder, comparison, study or fault bench, if one such is named."""
    from steadyrl.report.results import write_result
    from steadyrl.views.results import kind_of_result

    if len(named) != 1:
        return None
    kind = kind_of_result(named[0])
    return None if kind is None else write_result(named[0], kind, output)


def _runs(arguments: argparse.Namespace) -> Path:
    from steadyrl.report.html import write_report

    return write_report(open_runs(arguments), arguments.output)
