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
    from steadyrl.stability.rule_texts import by_id_or_name, rule_texts

    rule = by_id_or_name(arguments.rule, rule_texts())
    if arguments.json:
        record = {"id": rule.id, "name": rule.name, "kind": rule.kind, "text": rule.text}
        sys.stdout.write(json.dumps(record) + "\n")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(rule.text))
    else:
        sys.stdout.write(rule.text)
    return 0
