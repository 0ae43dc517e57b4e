"""Help and lists come at once: what takes long to import is imported when it is needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from steadyrl.cli.main import COMMANDS, POOL, main

HEAVY = ("numpy", "pydantic", "rich", "yaml", "orjson", "torch")
LIGHT = (
    *(["--help"], ["--version"], ["presets"], ["presets", "ddpg/pendulum"], ["signals"]),
    *(["rules"], ["explain", "D001"], ["schema"]),
)

PROGRAM = """
import contextlib, io, sys
from steadyrl.cli.main import main
for arguments in {commands!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(arguments)
    found = [name for name in {heavy!r} if name in sys.modules]
    if found:
        sys.exit(f"{{arguments}} imports {{found}}")
"""


def _imports(commands: list[list[str]], heavy: tuple[str, ...]) -> str:
    program = PROGRAM.format(commands=commands, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def test_help_of_every_command_imports_nothing_heavy() -> None:
    assert _imports([[name, "--help"] for name in COMMANDS], HEAVY) == ""


def test_lists_import_nothing_heavy() -> None:
    assert _imports([list(arguments) for arguments in LIGHT], HEAVY) == ""


def test_checking_a_config_imports_nothing_that_trains_computes_or_draws() -> None:
    heavy = ("torch", "gymnasium", "transformers", "numpy", "scipy", "rich")
    assert _imports([["check", "ddpg/pendulum"]], heavy) == ""


@pytest.mark.parametrize(
    ("command", "given", "seen"),
    [
        ("diagnose", None, "1"),
        ("report", None, "1"),
        ("diagnose", "4", "4"),
        ("train", None, None),
        ("rescue", None, None),
    ],
)
def test_only_what_reads_runs_does_without_threads_for_matrices(
    command: str, given: str | None, seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def look(*_: object) -> int:
        told.append(os.environ.get(POOL))
        return 0

    monkeypatch.setattr(f"steadyrl.cli.{command}.main", look)
    monkeypatch.delenv(POOL, raising=False)
    if given is not None:
        monkeypatch.setenv(POOL, given)
    assert main([command]) == 0
    assert told == [seen]
    assert os.environ.get(POOL) == given  # nothing that is started later inherits it
