"""`steadyrl diagnose`: what went wrong in recorded runs, and why."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steadyrl.cli.recorded import ABOUT_RUNS, add_limits_flag, add_run_flags, open_runs
from steadyrl.core.errors import ConfigError
from steadyrl.core.printable import printable

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

EPILOG = f"""\
{ABOUT_RUNS}
examples:
  steadyrl diagnose runs/ddpg-residualcontrol-v0-seed0
  steadyrl diagnose runs/* --strict
  steadyrl diagnose logs/PPO_1 --total-env-steps 1000000
  steadyrl diagnose logs/PPO_1 --watch
  steadyrl diagnose runs/language-addition-seed0 --limits document
  steadyrl diagnose losses.csv --propose-mapping > my-names.yaml
  steadyrl diagnose losses.csv --mapping my-names.yaml --family ppo
"""

FINE = ("healthy", "recovered")  # under --strict
MANY = 5  # above it the table alone is shown


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Judge each run; exit 1 with --strict if any is not healthy."""
    add_run_flags(parser)
    parser.add_argument("--strict", action="store_true", help="exit 1 unless all are healthy")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    parser.add_argument(
        "--watch", action="store_true", help="follow growing logs and tell what is new; end: Ctrl-C"
    )
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="how often --watch looks"
    )
    parser.add_argument(
        "--propose-mapping",
        action="store_true",
        help="print a mapping file for the names of the first log, guessed where none is known",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="name every signal that was not measured"
    )
    add_limits_flag(parser)
    arguments = parser.parse_args(argv)
    if arguments.every <= 0:
        raise ConfigError(f"--every {arguments.every:g} must be more than 0 seconds.")
    if arguments.watch and arguments.json:
        raise ConfigError("--watch prints findings as they appear; --json is for a single look.")
    runs = open_runs(arguments)
    if arguments.propose_mapping:
        return _propose(runs)
    if arguments.watch:
        from steadyrl.cli.following import follow

        return follow(runs, every=arguments.every, limits=arguments.limits, sleep=time.sleep)
    from steadyrl.judging import judge

    verdicts = [judge(run, arguments.limits) for run in runs]
    if arguments.json:
        sys.stdout.write(json.dumps([verdict.to_json() for verdict in verdicts]) + "\n")
    else:
        from steadyrl.report.console import PlainConsole
        from steadyrl.report.findings import print_verdict, print_verdicts

        console = PlainConsole()
        for verdict in verdicts if len(verdicts) <= MANY else ():
            print_verdict(verdict, console, verbose=arguments.verbose)
        if len(verdicts) > 1:
            print_verdicts(verdicts, console)
    return int(arguments.strict and any(v.headline not in FINE for v in verdicts))


def _propose(runs: Sequence[Recorded]) -> int:
    from steadyrl.store.foreign.proposing import proposed
    from steadyrl.store.foreign.run import ForeignRun

    theirs = next((run for run in runs if isinstance(run, ForeignRun)), None)
    if theirs is None:
        raise ConfigError("--propose-mapping is for logs of other programs; ours need none.")
    sys.stdout.write(printable(proposed(theirs.names, theirs.mapping)))
    return 0
