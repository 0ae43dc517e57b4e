"""What each extra takes, installed into an empty environment: `python -m tests.wheel.sizes`.

The environments hold neither pip nor setuptools, so that only what we ask for is counted. Prints a
Markdown table; with names of extras as arguments only those. Needs a package index and, for all of
them, some gigabytes of disk and an hour.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from tests.wheel.run import ROOT, built, run, say

SHOWN = 3  # packages named, the largest first
NOT_FOR_USERS = "dev"


def main() -> int:
    """A row per extra, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", default=extras(), help="all, unless named; '' is none")
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steadyrl-sizes-") as folder:
        wheel = built(Path(folder))
        say("| installed | MB | seconds | packages | the largest, MB |\n|---|---|---|---|---|")
        for extra in arguments.extras:
            with tempfile.TemporaryDirectory(prefix="steadyrl-extra-") as place:
                say(_row(extra, wheel, Path(place), arguments.constraints))
    return 0


def extras() -> list[str]:
    """None at all, and every extra that users are told of."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = about["project"]["optional-dependencies"]
    return ["", *(name for name in names if name != NOT_FOR_USERS)]


def _row(extra: str, wheel: Path, place: Path, constraints: Path) -> str:
    venv.create(place, with_pip=False)
    asked = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install"]
    began = time.monotonic()
    run([*pip, "--quiet", "--disable-pip-version-check", "-c", str(constraints), asked], place)
    seconds = time.monotonic() - began
    library = next((place / "lib").glob("python*/site-packages"))
    sizes = dict(sorted(_packages(library), key=lambda pair: -pair[1]))
    largest = ", ".join(f"{name} {size:,.0f}" for name, size in list(sizes.items())[:SHOWN])
    name = f"steadyrl[{extra}]" if extra else "steadyrl"
    whole = sum(file.stat().st_size for file in library.rglob("*") if file.is_file()) / 1e6
    return f"| `{name}` | {whole:,.0f} | {seconds:,.0f} | {len(sizes)} | {largest} |"


def _packages(library: Path) -> Iterator[tuple[str, float]]:
    """Every package with its megabytes, byte code included."""
    for package in distributions(path=[str(library)]):
        files = (Path(str(package.locate_file(file))) for file in package.files or ())
        yield package.name, sum(file.stat().st_size for file in files if file.is_file()) / 1e6


if __name__ == "__main__":
    sys.exit(main())
