"""`steadyrl compare`: several configs on the same seeds: who is better, and is that clear?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.cli.engine import add_engine_flags, engine
from steadyrl.cli.folder import claimed_folder
from steadyrl.cli.settings import parse_setting_flags, parse_with_settings

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

EPILOG = """\
Every config runs on the same seeds. A variant of a config is written CONFIG+NAME=VALUE. The first
is what the others are compared with. Seeds are added until the answer is clear, up to --seeds; with
fewer than six no answer can be.
Writes compare.json and report.html. Run it again with the same --output and it goes on.

examples:
  steadyrl compare ddpg/pendulum ddpg/pendulum+twin_critics=true
  steadyrl compare a.yaml b.yaml --seeds 12 --threshold -200
  steadyrl compare ddpg/pendulum ddpg/pendulum+batch_size=64 --total-env-steps 5000
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Compare and show the tables."""
    parser.add_argument("configs", nargs="+", metavar="CONFIG", help="presets, files or variants")
    parser.add_argument("--seeds", type=int, default=8, help="per config, at most")
    parser.add_argument("--threshold", type=float, help="return whose first reaching is timed")
    parser.add_argument("--all-seeds", action="store_true", help="do not stop when it is clear")
    parser.add_argument("--output", type=Path, help="folder (default: runs/compare-...)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    add_engine_flags(parser)
    arguments, overrides = parse_with_settings(parser, argv)
    configs = {name: load_variant(name, overrides) for name in arguments.configs}
    from steadyrl.cli.progress import timed_lines
    from steadyrl.experiments.compare import compare, slug
    from steadyrl.report.compare import print_comparison
    from steadyrl.report.results import write_result

    default = f"compare-{slug(arguments.configs[0])}-{len(configs)}"
    folder = arguments.output or Path("runs") / default
    text = "".join(f"# {name}\n{config.to_yaml()}" for name, config in configs.items())
    with claimed_folder(folder, text, what="comparison of other configs"):
        result = compare(
            configs,
            folder,
            seeds=arguments.seeds,
            threshold=arguments.threshold,
            stop_early=not arguments.all_seeds,
            executor=engine(arguments),
            say=timed_lines(),
        )
    report = write_result(folder, "compare")
    if arguments.json:
        sys.stdout.write(json.dumps({**result.to_json(), "report": str(report)}) + "\n")
    else:
        print_comparison(folder, report)
    return 0


def load_variant(name: str, overrides: dict[str, object]) -> RunConfig:
    """CONFIG, or CONFIG+NAME=VALUE+...: a config with some settings changed."""
    from steadyrl.core.presets import load_config

    base, *changes = name.split("+")
    own = {
        key: value for text in changes for key, value in parse_setting_flags([f"--{text}"]).items()
    }
    return load_config(base, {**overrides, **own})
