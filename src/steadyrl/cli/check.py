"""`steadyrl check`: what can be told before any training."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from steadyrl.cli.settings import parse_with_settings
from steadyrl.core.errors import ConfigError
from steadyrl.core.printable import printable

if TYPE_CHECKING:
    from steadyrl.stability.check import Concern

EPILOG = """\
With --preflight the environment is looked at closely (shapes, types, bounds, resets, seeds) and
something severe exits 1.

examples:
  steadyrl check ddpg/stage1
  steadyrl check my.yaml --preflight --strict
  steadyrl check --environment my_module:MyTask-v0
"""


def _about_environment(name: str) -> list[Concern]:
    """What random actions show, asked by intervention; no training."""
    from steadyrl.integrations.doctor import examine, make
    from steadyrl.stability.environment_rules import asked

    return asked(examine(make(name)))


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Static rules; with --preflight also a few hundred steps that test invariants."""
    parser.add_argument("config", metavar="CONFIG", nargs="?", help="preset name or YAML file")
    parser.add_argument(
        "--environment",
        metavar="ID",
        help="examine an environment instead, such as CartPole-v1 or my_module:MyTask-v0",
    )
    parser.add_argument("--preflight", action="store_true", help="also run a few hundred steps")
    parser.add_argument("--strict", action="store_true", help="exit 1 on any warning or worse")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments, overrides = parse_with_settings(parser, argv)
    findings = _about_environment(arguments.environment) if arguments.environment else []
    if arguments.config is not None:
        from steadyrl.core.presets import load_config
        from steadyrl.stability.check import check_config

        config = load_config(arguments.config, overrides)
        findings += check_config(config)
        if arguments.preflight:
            from steadyrl.experiments.preflight import preflight

            findings += preflight(config)
    elif not arguments.environment:
        raise ConfigError("nothing to check: give a CONFIG, or --environment ID.")
    if arguments.json:
        sys.stdout.write(json.dumps([asdict(finding) for finding in findings]) + "\n")
    else:
        for finding in findings:
            told = f"{finding.severity:8} {finding.rule} {finding.name}: {finding.message}\n"
            sys.stdout.write(printable(told))
            for line in filter(None, (finding.why, finding.remedy)):
                sys.stdout.write(printable(f"         {line}\n"))
        if not findings:
            sys.stdout.write("nothing to complain about\n")
    severe = arguments.preflight and any(f.severity == "severe" for f in findings)
    return int(severe or (arguments.strict and any(f.severity != "note" for f in findings)))
