"""`steadyrl presets`: list them, or print one as a starting point for a config file."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from itertools import takewhile

from steadyrl.core.errors import ConfigError
from steadyrl.core.package_files import preset_names, preset_text

EPILOG = """\
examples:
  steadyrl presets
  steadyrl presets ddpg/stage1 > my.yaml
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """List the presets, or print one."""
    parser.add_argument("name", nargs="?", help="print this preset's YAML")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    names = list(preset_names())
    if arguments.name is not None:
        if arguments.name not in names:
            close = difflib.get_close_matches(arguments.name, names, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else "'steadyrl presets' lists them all."
            raise ConfigError(f"no preset '{arguments.name}'. {hint}")
        text = _as_json(arguments.name) if arguments.json else preset_text(arguments.name)
    elif arguments.json:
        text = json.dumps(names) + "\n"
    else:
        width = max(map(len, names))
        text = "".join(f"{name.ljust(width)}  {headline(name)}\n" for name in names)
    sys.stdout.write(text)
    return 0


def _as_json(name: str) -> str:
    from steadyrl.core.presets import load_config

    return json.dumps(load_config(name).plain()) + "\n"


def headline(name: str) -> str:
    """The first sentence of a preset's header, which may go over several lines."""
    lines = takewhile(lambda line: line.startswith("# "), preset_text(name).splitlines())
    return " ".join(line.removeprefix("# ") for line in lines).partition(". ")[0]
