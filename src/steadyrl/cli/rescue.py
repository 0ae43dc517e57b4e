"""`steadyrl rescue`: from a config that fails to a config that is proved to work."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.cli.engine import add_engine_flags, engine
from steadyrl.cli.folder import claimed_folder
from steadyrl.cli.settings import parse_setting_flags, parse_with_settings

EPILOG = """\
Trains until something severe is found (or to the end: a likely cause of mere warnings is rescued
too, from the beginning), ranks causes, tries their remedies against an unchanged control, a placebo
(the same config, other randomness) and a random fix, verifies the best on fresh seeds against the
original config, and writes rescued.yaml, rescue.json and report.html. Verified means: with the fix
every fresh run comes to its end with nothing severe found, and chance alone would set the two so
far apart in at most 5 % of cases. Exit code 0 only if the fix is verified (or nothing was wrong).
Run it again with the same --output and it goes on where it stopped.

examples:
  steadyrl rescue ddpg/stage1
  steadyrl rescue my.yaml --seeds 5 --workers 4
  steadyrl rescue my.yaml --also batch_size=256
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Rescue and tell the story."""
    parser.add_argument("config", metavar="CONFIG", help="preset name or YAML file")
    parser.add_argument("--output", type=Path, help="folder (default: runs/rescue-...)")
    parser.add_argument("--seeds", type=int, default=4, help="fresh seeds to verify on, at least 3")
    add_engine_flags(parser)
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a change of your own to be tried beside the remedies; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    arguments, overrides = parse_with_settings(parser, argv)
    from steadyrl.core.presets import load_config

    config = load_config(arguments.config, overrides)
    from steadyrl.cli.progress import timed_lines
    from steadyrl.experiments.rescue import default_folder, rescue
    from steadyrl.report.rescue import print_rescue
    from steadyrl.report.results import write_result

    folder = arguments.output or default_folder(config)
    also = [parse_setting_flags([f"--{text}"]) for text in arguments.also]
    with claimed_folder(folder, config.to_yaml(), what="rescue of another config"):
        result = rescue(
            config,
            folder,
            seeds=arguments.seeds,
            executor=engine(arguments),
            also=also,
            say=timed_lines(),
        )
    report = write_result(folder, "rescue")
    if arguments.json:
        sys.stdout.write(json.dumps({**result.to_json(), "report": str(report)}) + "\n")
    else:
        print_rescue(folder, report)
    return 0 if result.status in ("healthy", "verified") else 1
