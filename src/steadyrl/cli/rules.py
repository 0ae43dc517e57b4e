"""`steadyrl rules`: everything that is looked for, and what is done about it."""

from __future__ import annotations

import argparse
import json
import sys

from steadyrl.core.choices import RULE_KINDS

EPILOG = """\
examples:
  steadyrl rules
  steadyrl rules --kind cause
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """List the rules."""
    parser.add_argument("--kind", choices=RULE_KINDS, help="only these")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    parser.add_argument("--markdown", action="store_true", help="all texts as one page")
    arguments = parser.parse_args(argv)
    from steadyrl.stability.rule_texts import page_of, rule_texts

    rules = rule_texts()
    if arguments.markdown:
        sys.stdout.write(page_of(rules))
        return 0
    chosen = [rule for rule in rules if arguments.kind in (None, rule.kind)]
    if arguments.json:
        names = ("id", "name", "kind", "headline")
        records = [{name: getattr(rule, name) for name in names} for rule in chosen]
        sys.stdout.write(json.dumps(records) + "\n")
        return 0
    for rule in chosen:
        sys.stdout.write(f"{rule.id}  {rule.kind:8}  {rule.name:26}  {rule.headline}\n")
    return 0
