"""What an index would be given: it builds, its page renders, and it works outside of the checkout.

Without a network; `make test-wheel` installs it into empty environments as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = (".git", ".venv*", ".*_cache", "__pycache__", "*.egg-info", "runs", "build", "dist")


def _run(*command: str, place: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a copy: setuptools writes into what it builds from, and two may build at once."""
    folder, source = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("source") / "copy"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_COPIED))
    _run("-m", "build", "--no-isolation", "--outdir", str(folder), str(source), place=folder)
    return folder


def test_what_is_built_passes_the_check_of_an_index(built: Path) -> None:
    files = [str(file) for file in built.iterdir()]
    assert len(files) == 2
    _run("-m", "twine", "check", "--strict", *files, place=built)


def test_the_wheel_works_outside_of_the_checkout(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    home = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(home)
    log = tmp_path / "log.csv"
    rows = [f"{n * 100},{0.02 + 0.001 * (n % 7)},{float(n)}" for n in range(40)]
    log.write_text("\n".join(["global_step,losses/approx_kl,charts/episodic_return", *rows]) + "\n")
    where = _run("-c", "import steadyrl; print(steadyrl.__file__)", place=home)
    assert Path(where.strip()).is_relative_to(home)
    lists = (["-V"], ["presets"], ["rules"], ["schema"])
    for command in (*lists, ["diagnose", str(log)], ["report", str(log)]):
        _run("-m", "steadyrl", *command, place=home)  # presets, texts, tables and viewer are in it
    assert (home / "steadyrl" / "py.typed").is_file()
