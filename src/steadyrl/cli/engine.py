"""Flags of every command that runs trials: how many at a time, and where."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from steadyrl.core.errors import ConfigError
from steadyrl.core.launch import launched

if TYPE_CHECKING:
    from steadyrl.experiments.executor import Executor


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """--backend, --address, --workers."""
    parser.add_argument(
        "--backend",
        choices=["local", "ray"],
        default="local",
        help="local processes, or tasks on a Ray cluster (needs the extra 'ray')",
    )
    parser.add_argument(
        "--address",
        help="of a running Ray cluster, e.g. auto or 10.0.0.1:6379; run directories must lie where "
        "every node sees them (default: one is started on this machine)",
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="runs at a time on this machine"
    )


def engine(arguments: argparse.Namespace) -> Executor:
    """The executor that the flags ask for, with its progress on stderr."""
    if launched().count > 1:
        raise ConfigError(
            f"{launched().count} processes were launched: this command starts its own. Run it "
            "without accelerate, torchrun or mpirun, and see --workers."
        )
    from steadyrl.cli.trial_progress import WatchedExecutor
    from steadyrl.experiments.executor import make_executor

    inner = make_executor(arguments.backend, workers=arguments.workers, address=arguments.address)
    return WatchedExecutor(inner)
