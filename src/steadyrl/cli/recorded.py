"""Flags and opening of recorded runs, ours or another program's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from steadyrl.core.choices import Family, Limits
from steadyrl.core.errors import ConfigError, StoreError
from steadyrl.core.package_files import mapping_names
from steadyrl.core.printable import printable

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

ABOUT_RUNS = """\
RUN is a run of ours, or what another program recorded: a folder with TensorBoard event files,
Stable-Baselines3's progress.csv, progress.json or monitor.csv, RLlib's result.json or progress.csv,
transformers' trainer_state.json, or any CSV or JSONL file. A folder of runs stands for all of them.
"""


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """RUN ..., and what is to be known of runs that other programs recorded."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders, log files")
    foreign = parser.add_argument_group("runs of other programs")
    tables = ", ".join(mapping_names())
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
        help="budget (default: of a finished log its last step)",
    )
    foreign.add_argument(
        "--settings", type=Path, metavar="FILE", help="YAML with its hyperparameters, by any name"
    )


def add_limits_flag(parser: argparse.ArgumentParser) -> None:
    """--limits, for commands that judge runs."""
    parser.add_argument(
        "--limits",
        choices=get_args(Limits),
        help="hold the run against its own past (relative), or also against the source documents' "
        "absolute numbers (default: as it was trained)",
    )


def open_runs(arguments: argparse.Namespace) -> list[Recorded]:
    """Every run that was named; one that cannot be read is told and does not hide the others."""
    if arguments.total_env_steps < 0:
        raise ConfigError(f"--total-env-steps {arguments.total_env_steps} must not be negative.")
    from steadyrl.store.foreign.finding import find_runs, is_own

    runs: list[Recorded] = []
    left_out: list[StoreError | ConfigError] = []
    for given in arguments.runs:
        try:
            found = find_runs(given)
        except StoreError as error:
            left_out.append(error)
            continue
        for path in found:
            try:
                runs.append(_open(path, arguments))
            except (StoreError, ConfigError) as error:
                if isinstance(error, ConfigError) and not is_own(path):
                    raise  # about the flags
                left_out.append(error)
    if not runs:
        raise left_out[0]
    for fault in left_out:
        sys.stderr.write(f"left out: {printable(str(fault))}\n")
    return runs


def _open(path: Path, arguments: argparse.Namespace) -> Recorded:
    from steadyrl.judging import open_run
    from steadyrl.store.foreign.finding import is_own

    if is_own(path):
        return open_run(path)
    from steadyrl.core.yaml_text import read_yaml
    from steadyrl.store.foreign.mapping import load_table
    from steadyrl.store.foreign.run import ForeignRun

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
        growing=getattr(arguments, "watch", False),
    )
