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
    from steadyrl.stability.explain import KINDS, all_rules, headline, rules_page

    if arguments.markdown:
        sys.stdout.write(rules_page())
        return 0
    rows = [
        (rule.id, rule.name, KINDS[type(rule)], headline(rule))
        for rule in all_rules()
        if arguments.kind in (None, KINDS[type(rule)])
    ]
    if arguments.json:
        names = ("id", "name", "kind", "headline")
        records = [dict(zip(names, row, strict=True)) for row in rows]
        sys.stdout.write(json.dumps(records) + "\n")
        return 0
    for identity, name, kind, line in rows:
        sys.stdout.write(f"{identity}  {kind:8}  {name:26}  {line}\n")
    return 0
