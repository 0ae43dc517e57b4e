"""Every setting as a flag: `--batch-size 512`, `--environment.settings.g 9.81`.

Flags are read as YAML would read them and validated together with the config, so a flag and a
config file are refused in the same words.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steadyrl.core.errors import ConfigError

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig

EVERY_SETTING = """\
Every setting of CONFIG is a flag as well, e.g. --seed 1 --environment.count 4;
'steadyrl train CONFIG --help' lists them.
"""


def parse_with_settings(
    parser: argparse.ArgumentParser, argv: Sequence[str]
) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The command's own arguments, and every other flag as a setting.

    Split by hand: argparse would take a setting's value for an optional positional argument.
    """
    parser.epilog = f"{EVERY_SETTING}\n{parser.epilog}"
    own: list[str] = []
    settings: list[str] = []
    known = parser._option_string_actions
    position = 0
    while position < len(argv):
        token = argv[position]
        position += 1
        name = token.partition("=")[0]
        has_value = position < len(argv) and not argv[position].startswith("--")
        if not token.startswith("--"):
            own.append(token)
        elif name not in known:
            settings.append(token)
            if "=" not in token and has_value:
                settings.append(argv[position])
                position += 1
        else:
            own.append(token)
            if "=" not in token and known[name].nargs != 0 and has_value:
                own.append(argv[position])
                position += 1
    arguments = parser.parse_args(own)
    return arguments, parse_setting_flags(settings) if settings else {}


def parse_setting_flags(tokens: Sequence[str]) -> dict[str, Any]:
    """Dotted setting names and values from `--name value`, `--name=value` or a bare `--name`."""
    from steadyrl.core.yaml_text import parse_scalar

    overrides: dict[str, Any] = {}
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if not token.startswith("--"):
            raise ConfigError(
                f"'{token}' was not expected here. Settings are given as --name value."
            )
        name, equals, value = token[2:].partition("=")
        position += 1
        if not equals:
            if position < len(tokens) and not tokens[position].startswith("--"):
                value = tokens[position]
                position += 1
            else:
                value = "true"
        overrides[name.replace("-", "_")] = parse_scalar(value)
    return overrides


def parse_sizes(text: str) -> list[int]:
    """Batch sizes from a comma-separated list."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 2:
        raise ConfigError(
            f"--batch-sizes '{text}': give whole numbers from 2 on, separated by commas, such as "
            "64,512."
        )
    return sizes


def describe_settings(config: RunConfig) -> str:
    """All settings of a config with their values and meanings, for `--help`."""
    from steadyrl.core.config import flatten, leaves

    values = dict(flatten(config.plain()))
    lines = ["settings (value in this config, meaning, bounds):"]
    for leaf in leaves(type(config)):
        flag = "--" + leaf.name.replace("_", "-")
        value = values.get(leaf.name, leaf.default)
        bounds = f" ({leaf.allowed})" if leaf.allowed else ""
        lines.append(f"  {flag} {value}\n      {leaf.meaning}{bounds}")
    return "\n".join(lines) + "\n"
