"""`steadyrl ladder`: which batch sizes hold up, measured on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.cli.engine import add_engine_flags, engine
from steadyrl.cli.folder import claimed_folder
from steadyrl.cli.settings import parse_sizes, parse_with_settings

EPILOG = """\
Climbs from the smallest batch size on: several seeds per rung, judged by gates. A rung that passes
is climbed past; one whose answer stays open after as many seeds again is held; one that fails is
stepped back from; a number that is not finite stops everything. Writes ladder.json, report.html and
recommended.yaml. Run it again with the same --output and it goes on where it stopped.

--gates: relative (default, free of any scale), document (the absolute numbers of the field notes),
or a YAML file of your own.

examples:
  steadyrl ladder ddpg/residual --batch-sizes 128,256,512,1024
  steadyrl ladder ddpg/stage1 --gates document --every-rung
  steadyrl ladder my.yaml --backend ray --address auto
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Climb and show the table."""
    parser.add_argument("config", metavar="CONFIG", help="preset name or YAML file")
    parser.add_argument("--batch-sizes", default="128,256,512,1024,2048,4096", help="the rungs")
    parser.add_argument("--gates", default="relative", help="relative, document, or a YAML file")
    parser.add_argument(
        "--seeds", type=int, default=5, help="per rung; twice as many if its answer stays open"
    )
    parser.add_argument("--every-rung", action="store_true", help="go on past a rung that failed")
    parser.add_argument("--output", type=Path, help="folder (default: runs/ladder-...)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    add_engine_flags(parser)
    arguments, overrides = parse_with_settings(parser, argv)
    from steadyrl.core.presets import load_config

    config = load_config(arguments.config, overrides)
    from steadyrl.cli.progress import timed_lines
    from steadyrl.experiments.gates import load_gates
    from steadyrl.experiments.ladder import climb
    from steadyrl.report.ladder import print_ladder
    from steadyrl.report.results import write_result
    from steadyrl.run import default_name

    gates, sizes = load_gates(arguments.gates), parse_sizes(arguments.batch_sizes)
    folder = arguments.output or Path("runs") / f"ladder-{default_name(config)}"
    text = config.to_yaml() + gates.to_yaml()
    with claimed_folder(folder, text, what="ladder of another config"):
        ladder = climb(
            config,
            sizes,
            gates,
            folder,
            name=arguments.config,
            gates_name=arguments.gates,
            seeds=arguments.seeds,
            every_rung=arguments.every_rung,
            executor=engine(arguments),
            say=timed_lines(),
        )
    report = write_result(folder, "ladder")
    if arguments.json:
        sys.stdout.write(json.dumps({**ladder.to_json(), "report": str(report)}) + "\n")
    else:
        print_ladder(folder, report)
    return 0 if ladder.recommended is not None else 1
