"""`steadyrl schema`: the JSON schema of a config, for editors and validators."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from steadyrl.core.package_files import written
from steadyrl.core.registry import ALGORITHMS, config_class

EPILOG = """\
example:
  steadyrl schema ddpg > ddpg.schema.json
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print the schema of one algorithm, or of all by name."""
    parser.add_argument("algorithm", nargs="?", choices=list(ALGORITHMS))
    parser.add_argument("--json", action="store_true", help="no effect: the output is JSON")
    arguments = parser.parse_args(argv)
    names = [arguments.algorithm] if arguments.algorithm else ALGORITHMS
    schemas = {name: _schema(name) for name in names}
    chosen = schemas[arguments.algorithm] if arguments.algorithm else schemas
    sys.stdout.write(json.dumps(chosen, indent=2) + "\n")
    return 0


def _schema(name: str) -> Any:
    """As the package carries it; of an algorithm that somebody added, from its config class."""
    if name in (ours := written("schemas")):
        return ours[name]
    return config_class(name).model_json_schema()
