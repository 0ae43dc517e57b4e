"""`steadyrl diagnose`: what went wrong in recorded runs, and why."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import get_args

from rich.console import Console

from steadyrl.cli.following import follow
from steadyrl.core.config import read_yaml
from steadyrl.core.configs.foreign import Family
from steadyrl.core.errors import ConfigError, StoreError
from steadyrl.report.findings import print_verdict, verdict_table
from steadyrl.store.foreign.mapping import built_in, load_table
from steadyrl.store.foreign.run import ForeignRun, find_runs, is_own
from steadyrl.verdict import Recorded, judge, open_run

EPILOG = """\
RUN is a run of ours, or what another program recorded: a folder with TensorBoard event files,
Stable-Baselines3's progress.csv, progress.json or monitor.csv, RLlib's result.json or progress.csv,
transformers' trainer_state.json, or any CSV or JSONL file. A folder of runs stands for all of them.

examples:
  steadyrl diagnose runs/ddpg-residualcontrol-v0-seed0
  steadyrl diagnose runs/* --strict
  steadyrl diagnose logs/PPO_1 --total-env-steps 1000000
  steadyrl diagnose logs/PPO_1 --watch
  steadyrl diagnose losses.csv --mapping my-names.yaml --family ppo
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Judge each run; exit 1 with --strict if any is not healthy."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders, log files")
    parser.add_argument("--strict", action="store_true", help="exit 1 on any warning or worse")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    parser.add_argument(
        "--watch", action="store_true", help="follow growing logs and tell what is new; end: Ctrl-C"
    )
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="how often --watch looks"
    )
    foreign = parser.add_argument_group("runs of other programs")
    tables = ", ".join(built_in())
    foreign.add_argument(
        "--mapping", help=f"what names mean: one of {tables}, or a YAML file (default: recognised)"
    )
    foreign.add_argument(
        "--family", choices=get_args(Family), help="which algorithm (default: recognised by names)"
    )
    foreign.add_argument(
        "--total-env-steps",
        type=int,
        default=0,
        metavar="N",
        help="budget; rules on progress use it",
    )
    foreign.add_argument(
        "--settings", type=Path, metavar="FILE", help="YAML with its hyperparameters, by any name"
    )
    arguments = parser.parse_args(argv)
    if arguments.every <= 0:
        raise ConfigError(f"--every {arguments.every:g} must be more than 0 seconds.")
    if arguments.watch and arguments.json:
        raise ConfigError("--watch prints findings as they appear; --json is for a single look.")
    if arguments.total_env_steps < 0:
        raise ConfigError(f"--total-env-steps {arguments.total_env_steps} must not be negative.")
    runs = _all(arguments)
    if arguments.watch:
        return follow(runs, every=arguments.every, sleep=time.sleep)
    verdicts = [judge(run) for run in runs]
    if arguments.json:
        sys.stdout.write(json.dumps([verdict.to_json() for verdict in verdicts]) + "\n")
    else:
        console = Console()
        for verdict in verdicts if len(verdicts) <= MANY else ():
            print_verdict(verdict, console)
        if len(verdicts) > 1:
            console.print(verdict_table(verdicts))
    return int(arguments.strict and any(v.headline != "healthy" for v in verdicts))


MANY = 5  # above it the table alone is shown


def _all(arguments: argparse.Namespace) -> list[Recorded]:
    """Every run that was named; of a folder's runs a broken one does not hide the others."""
    runs = []
    for given in arguments.runs:
        found = find_runs(given)
        for path in found:
            try:
                runs.append(_open(path, arguments))
            except StoreError as error:
                if len(found) == 1:
                    raise
                sys.stderr.write(f"left out: {error}\n")
    return runs


def _open(path: Path, arguments: argparse.Namespace) -> Recorded:
    if is_own(path):
        return open_run(path)
    mapping = load_table(arguments.mapping) if arguments.mapping else None
    settings = {}
    if arguments.settings:
        try:
            text = arguments.settings.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{arguments.settings}: cannot be read as text: {error}.") from None
        settings = read_yaml(text, source=str(arguments.settings))
    return ForeignRun(
        path,
        mapping=mapping,
        family=arguments.family,
        total_env_steps=arguments.total_env_steps,
        settings=settings,
    )
