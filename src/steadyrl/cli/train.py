"""`steadyrl train`: from a config to a run directory, or on with one that stopped."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.cli.main import INTERRUPTED
from steadyrl.cli.settings import describe_settings, parse_with_settings
from steadyrl.core.errors import ConfigError
from steadyrl.core.launch import launched

if TYPE_CHECKING:
    from steadyrl.core.records import RunSummary
    from steadyrl.core.run_config import RunConfig
    from steadyrl.guarding import Observers

EPILOG = """\
CONFIG is a preset name (see 'steadyrl presets') or a YAML file.

examples:
  steadyrl train ddpg/pendulum --seed 3
  steadyrl train ddpg/stage1 --batch-size 512 --environment.settings.termination-penalty 75
  steadyrl train --resume runs/ddpg-pendulum-v1-seed3
  steadyrl train --resume runs/ddpg-pendulum-v1-seed3 --total-env-steps 50000
  accelerate launch --multi_gpu --num_processes 2 -m steadyrl train language/tiny
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Train and say how it went."""
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="preset name or YAML file")
    parser.add_argument("--resume", type=Path, metavar="RUN", help="continue this run exactly")
    parser.add_argument("--runs", type=Path, help="where runs are kept (default: runs)")
    parser.add_argument("--name", help="the run's folder name (default: from the config)")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="the run's folder, instead of both"
    )
    parser.add_argument(
        "--guard",
        choices=["off", "watch", "act"],
        help="watch: report findings (default; a resumed run keeps its guard); act: on something "
        "severe go back to the last good checkpoint and try an automatic remedy; while nothing "
        "was learned it may also begin anew",
    )
    parser.add_argument(
        "--log", choices=["wandb"], help="beside the run's own files: Weights & Biases"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    if {"-h", "--help"} & set(argv) and argv[0] not in ("-h", "--help") and argv[0][:1] != "-":
        from steadyrl.core.presets import load_config

        parser.print_help()
        sys.stdout.write("\n" + describe_settings(load_config(argv[0])))
        return 0
    arguments, overrides = parse_with_settings(parser, argv)
    arguments.quiet |= launched().follows
    if arguments.resume is not None:
        if arguments.config is not None:
            raise ConfigError("give either CONFIG or --resume RUN: a run brings its own config.")
        return _resume(arguments, overrides)
    if arguments.config is None:
        raise ConfigError("CONFIG is missing: a preset name ('steadyrl presets') or a YAML file.")
    return _train(arguments, overrides)


def _train(arguments: argparse.Namespace, overrides: dict[str, object]) -> int:
    from steadyrl.core.presets import load_config

    config = load_config(arguments.config, overrides)
    from steadyrl.cli.progress import TrainingProgress
    from steadyrl.run import default_name, train
    from steadyrl.store.writer import claim_run_path, mirror_missing

    if (missing := mirror_missing()) and not arguments.quiet:
        sys.stderr.write(f"note: {missing}\n")
    path, numbered = _where(arguments, default_name(config))
    if arguments.log and numbered:  # the mirror must know which folder it will be
        path, numbered = claim_run_path(path), False
    with (
        TrainingProgress(path.name, config, quiet=arguments.quiet) as progress,
        mirrored(arguments.log, path, config, progress.observers()) as (observers, tell),
    ):
        summary, path = train(
            config,
            path,
            numbered=numbered,
            observers=observers,
            guard=arguments.guard or "watch",
        )
        tell(summary)
    return _conclude(summary.to_json(), path, as_json=arguments.json)


def _where(arguments: argparse.Namespace, usual: str) -> tuple[Path, bool]:
    """The run's folder, and whether it gets a number if it is taken."""
    if arguments.output is None:
        return (arguments.runs or Path("runs")) / (arguments.name or usual), arguments.name is None
    if arguments.runs is not None or arguments.name is not None:
        raise ConfigError("give either --output FOLDER or --runs and --name: it says both.")
    return arguments.output, False


def _resume(arguments: argparse.Namespace, overrides: dict[str, object]) -> int:
    from steadyrl.cli.progress import TrainingProgress
    from steadyrl.run import resume
    from steadyrl.store.reader import RunReader

    path = arguments.resume
    store = RunReader.open(path)
    for problem in () if launched().follows else store.problems:
        sys.stderr.write(f"warning: {path}: {problem}\n")
    config = store.config_in_force().replaced(overrides)
    with (
        TrainingProgress(path.name, config, quiet=arguments.quiet, past=store.steps) as progress,
        mirrored(arguments.log, path, config, progress.observers()) as (observers, tell),
    ):
        summary = resume(path, overrides=overrides, observers=observers, guard=arguments.guard)
        tell(summary)
    return _conclude(summary.to_json(), path, as_json=arguments.json)


@contextmanager
def mirrored(
    where: str | None, path: Path, config: RunConfig, observers: Observers
) -> Iterator[tuple[Observers, Callable[[RunSummary], None]]]:
    """Observers that also send elsewhere, and whom to tell how it ended; closed in any case."""
    if where is None or launched().follows:
        yield observers, lambda _summary: None
        return
    from steadyrl.integrations.wandb import WandbMirror

    mirror = WandbMirror(path, config)
    ended: list[RunSummary] = []
    try:
        yield mirror.watching(observers), ended.append
    finally:
        mirror.close(ended[0] if ended else None)
        with suppress(OSError):  # claimed beforehand; a trainer that cannot begin leaves no run
            path.rmdir()


def _conclude(summary: dict[str, object], path: Path, *, as_json: bool) -> int:
    if launched().follows:  # the first process says how it went
        return 0
    interrupted = summary["status"] == "interrupted"
    if as_json:
        sys.stdout.write(json.dumps({"run": str(path), **summary}) + "\n")
    else:
        from steadyrl.report.terminal import print_conclusion

        named = print_conclusion(path)
        if interrupted and "--resume" not in named:
            sys.stdout.write(f"continue with: steadyrl train --resume {path}\n")
    return INTERRUPTED if interrupted else int(summary["status"] == "stopped")
