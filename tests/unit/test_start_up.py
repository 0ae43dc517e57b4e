"""How quickly a command begins depends on what it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = ("numpy", "pydantic", "rich", "scipy", "torch", "yaml")  # to import


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("--help", ""),
        ("--version", ""),
        ("presets", ""),
        ("signals", ""),
        ("diagnose --help", ""),
        ("rules", ""),
        ("rules --markdown", ""),
        ("explain D101", ""),
        ("schema", ""),
        ("schema ddpg", ""),
        ("check ddpg/pendulum", "pydantic yaml"),
        ("check ppo/cartpole --json", "pydantic yaml"),
        ("check language/tiny", "pydantic yaml"),
    ],
)
def test_commands_that_only_tell_import_nothing_slow_that_they_do_not_need(
    command: str, needed: str
) -> None:
    script = f"""
import sys
from steadyrl.cli.main import main
try:
    main({command.split()!r})
except SystemExit:  # argparse's way to end after --help
    pass
print(*(name for name in {SLOW!r} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == needed
