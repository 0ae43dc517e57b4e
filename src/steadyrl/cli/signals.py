"""`steadyrl signals`: the catalogue of everything a run records."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from steadyrl.core.catalogue import CATALOGUE

EPILOG = """\
example:
  steadyrl signals | grep critic
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print every signal with its meaning, unit, reduction and TensorBoard tag."""
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(signal) for signal in CATALOGUE.values()]) + "\n")
        return 0
    for signal in CATALOGUE.values():
        sys.stdout.write(
            f"{signal.name}\n    {signal.meaning} [{signal.unit}; {signal.reduce} per Step; "
            f"TensorBoard {signal.tag}]\n"
        )
    return 0
