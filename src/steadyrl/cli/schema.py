"""`steadyrl schema`: the JSON schema of a config, for editors and validators."""

from __future__ import annotations

import argparse
import json
import sys

from steadyrl.core.registry import ALGORITHMS

EPILOG = """\
example:
  steadyrl schema ddpg > ddpg.schema.json
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print the schema of one algorithm, or of all by name."""
    parser.add_argument("algorithm", nargs="?", choices=list(ALGORITHMS))
    parser.add_argument("--json", action="store_true", help="no effect: the output is JSON")
    arguments = parser.parse_args(argv)
    from steadyrl.core.registry import config_class

    names = [arguments.algorithm] if arguments.algorithm else ALGORITHMS
    schemas = {name: config_class(name).model_json_schema() for name in names}
    chosen = schemas[arguments.algorithm] if arguments.algorithm else schemas
    sys.stdout.write(json.dumps(chosen, indent=2) + "\n")
    return 0
