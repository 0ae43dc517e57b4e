"""`steadyrl explain`: one rule's whole text."""

from __future__ import annotations

import argparse
import json
import sys

EPILOG = """\
examples:
  steadyrl explain D010
  steadyrl explain early-termination-pays
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Print a rule's text."""
    parser.add_argument("rule", help="id or name, see 'steadyrl rules'")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.stability.explain import KINDS, explain, find_rule

    rule = find_rule(arguments.rule)
    if arguments.json:
        record = {
            "id": rule.id,
            "name": rule.name,
            "kind": KINDS[type(rule)],
            "text": explain(rule),
        }
        sys.stdout.write(json.dumps(record) + "\n")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(explain(rule)))
    else:
        sys.stdout.write(explain(rule))
    return 0
