"""`steadyrl demos`: what demonstrations are like, and whether a clone reproduces them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from steadyrl.core.errors import ConfigError
from steadyrl.core.numbers import amount
from steadyrl.core.printable import printable

EPILOG = """\
inspect  counts, ranges, constant components, zero actions, duplicates, outliers, gaps in time,
         contradictions, and what batch size the data wants
replay   the clone and the recorded actions rolled out: is it the data, the learning or the drift?
make     write the scripted expert's demonstrations to a file, to try things on

examples:
  steadyrl demos make demo.npz --trajectories 5
  steadyrl demos inspect demo.npz --batch-size 256
  steadyrl demos replay runs/bc-assembly-v0-seed0
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Look at a file, at a run, or make a file."""
    parser.add_argument("what", choices=["inspect", "replay", "make"])
    parser.add_argument("path", type=Path, help="FILE of demonstrations, RUN, or file to write")
    parser.add_argument("--batch-size", type=int, help="inspect: the batch you have in mind")
    parser.add_argument("--observation-key", help="inspect: entry of dictionary observations")
    parser.add_argument("--trajectories", type=int, default=5, help="replay, make: how many")
    parser.add_argument("--length", type=int, default=418, help="make: transitions of each")
    parser.add_argument("--seed", type=int, default=0, help="make: which ones")
    parser.add_argument("--seeds", type=int, nargs="+", help="replay: the recordings' reset seeds")
    parser.add_argument("--output", type=Path, help="page (default: beside the file or run)")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    if arguments.trajectories < 1 or arguments.length < 10 or arguments.seed < 0:
        raise ConfigError(
            "--trajectories must be 1 or more, --length 10 or more, --seed 0 or more."
        )
    return {"inspect": _inspect, "replay": _replay, "make": _make}[arguments.what](arguments)


def _inspect(arguments: argparse.Namespace) -> int:
    from steadyrl.experience.demonstration_files import read_demonstrations
    from steadyrl.experiments.demo_inspect import inspect, rows_of
    from steadyrl.viewer.frame import write_page
    from steadyrl.views.demos import inspection_page

    data = read_demonstrations(arguments.path, observation_key=arguments.observation_key)
    found = inspect(data, batch_size=arguments.batch_size)
    output = arguments.output or arguments.path.with_name(f"{arguments.path.stem}-inspection.html")
    write_page(output, inspection_page(rows_of(found), found.concerns, data))
    if arguments.json:
        sys.stdout.write(json.dumps({**asdict(found), "page": str(output)}) + "\n")
        return 0
    _print_rows(rows_of(found))
    for concern in found.concerns:
        sys.stdout.write(printable(f"! {concern}\n"))
    sys.stdout.write(f"page: {output}\n")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from steadyrl.experiments.reenactment import reenact
    from steadyrl.viewer.frame import write_page
    from steadyrl.views.demos import replay_page

    found = reenact(arguments.path, trajectories=arguments.trajectories, seeds=arguments.seeds)
    output = arguments.output or arguments.path / "replay.html"
    errors = {name: getattr(found, name) for name in ("prediction", "recorded", "clone")}
    write_page(output, replay_page(found.verdict, found.because, errors))
    if arguments.json:
        sys.stdout.write(json.dumps({**asdict(found), "page": str(output)}) + "\n")
        return 0
    sys.stdout.write(f"{found.verdict}: {found.because}\n")
    for name, value in found.returns.items():
        sys.stdout.write(f"  return, {name}: {amount(value)}\n")
    sys.stdout.write(f"page: {output}\n")
    return 0


def _make(arguments: argparse.Namespace) -> int:
    from steadyrl.environments.demonstrated import scripted_demonstrations
    from steadyrl.experience.demonstration_files import write_npz
    from steadyrl.store.files import disk_errors

    if arguments.path.suffix != ".npz":
        raise ConfigError(f"{arguments.path}: demonstrations are written as .npz.")
    data = scripted_demonstrations(arguments.trajectories, arguments.length, arguments.seed)
    with disk_errors(arguments.path):
        arguments.path.parent.mkdir(parents=True, exist_ok=True)
        write_npz(data, arguments.path)
    told = {"file": str(arguments.path), "transitions": len(data)}
    plain = f"{arguments.path}: {data.trajectories} trajectories, {len(data):,} transitions\n"
    sys.stdout.write(json.dumps(told) + "\n" if arguments.json else plain)
    return 0


def _print_rows(rows: Sequence[tuple[str, str]]) -> None:
    from rich.markup import escape

    from steadyrl.report.console import PlainConsole
    from steadyrl.report.fitting import print_table

    told = [(escape(name), escape(value)) for name, value in rows]
    print_table(PlainConsole(highlight=False), ("", ""), told, header=False)
