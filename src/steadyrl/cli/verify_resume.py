"""`steadyrl verify-resume`: a certificate that a config's runs survive kill -9 unchanged."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from steadyrl.cli.settings import parse_with_settings

EPILOG = """\
Trains the config briefly twice: once unbroken, once killed with SIGKILL at random moments and
resumed. Every recorded signal and every array of the last checkpoint must agree bit for bit.

examples:
  steadyrl verify-resume ddpg/stage1
  steadyrl verify-resume my.yaml --length 5000 --kills 5
"""

STEPS = 40  # Steps that the proof's runs are cut into


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Prove it, or show where the two runs part."""
    parser.add_argument("config", metavar="CONFIG", help="preset name or YAML file")
    parser.add_argument(
        "--length", type=int, help="in the run's own unit (default: 1000 past learning_starts)"
    )
    parser.add_argument("--kills", type=int, default=3, help="how often to kill (default 3)")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON on stdout")
    arguments, overrides = parse_with_settings(parser, argv)
    from steadyrl.core.presets import load_config

    config = load_config(arguments.config, overrides)
    length = arguments.length or config.value_of("learning_starts", 0) + 1000
    changes = {
        config.unit.setting: length,
        "checkpoints.every": max(length // 10, 1),
        "evaluation.every": max(length // 3, 1),
    }
    if config.has("log_every"):
        changes["log_every"] = max(length // STEPS, config.value_of("environment.count", 1))
    config = config.replaced(changes)
    from steadyrl.experiments.verify_resume import verify_resume

    with tempfile.TemporaryDirectory(prefix="steadyrl-verify-") as folder:
        verdict = verify_resume(
            config, Path(folder), kills=arguments.kills, say=lambda line: _tell(line)
        )
    if arguments.json:
        sys.stdout.write(json.dumps({**vars(verdict), "exact": verdict.exact}) + "\n")
    elif verdict.exact:
        sys.stdout.write(
            f"exact: {verdict.steps} Steps of {verdict.signals} signals and {verdict.arrays} "
            f"arrays agree bit for bit; killed after Steps {verdict.killed_at}\n"
        )
    else:
        shown = "\n  ".join(verdict.differences[:10])
        sys.stdout.write(f"NOT exact: {len(verdict.differences)} differences\n  {shown}\n")
    return 0 if verdict.exact else 1


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
