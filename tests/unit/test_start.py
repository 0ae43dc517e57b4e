"""Help and lists come at once: what takes long to import is imported when it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from steadyrl.cli.main import COMMANDS, POOL, main

HEAVY = (
    "gymnasium",
    "numpy",
    "orjson",
    "pydantic",
    "rich",
    "scipy",
    "torch",
    "transformers",
    "yaml",
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


def _imports(commands: list[list[str]], *, needed: Sequence[str] = ()) -> str:
    heavy = [name for name in HEAVY if name not in needed]
    program = PROGRAM.format(commands=commands, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def test_help_of_every_command_imports_nothing_heavy() -> None:
    assert _imports([["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]) == ""


def test_what_only_tells_imports_nothing_heavy() -> None:
    lists = [["presets"], ["presets", "ddpg/pendulum"], ["signals"], ["schema"], ["schema", "ddpg"]]
    rules = [["rules"], ["rules", "--markdown"], ["rules", "--json"], ["explain", "D101"]]
    assert _imports([*lists, *rules]) == ""


def test_checking_a_config_imports_nothing_that_trains_computes_or_draws() -> None:
    checks = [["ddpg/pendulum"], ["ppo/cartpole", "--json"], ["language/tiny"]]
    assert _imports([["check", *rest] for rest in checks], needed=("pydantic", "yaml")) == ""


def test_the_end_of_a_training_is_told_without_statistics() -> None:
    program = "import steadyrl.report.terminal, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


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
