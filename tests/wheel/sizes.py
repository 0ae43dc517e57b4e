"""What each extra takes, installed: `python -m tests.wheel.sizes`.

Every extra is installed into an empty environment of its own, without pip and setuptools, so that
only what we ask for is counted. One that brings `train` along is installed over an environment that
has it, and its times are those of `train` and its own together: torch need not be unpacked a dozen
times. Prints a Markdown table; with names of extras as arguments only those. Needs a package index
and, for all of them, some gigabytes of disk and half an hour. `--here` adds up what is installed in
this environment instead: at once, but without times.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.wheel.run import ROOT, built, run, say

SHOWN = 4  # packages named, the largest first
NOT_FOR_USERS = ("dev", "docs")
BASE = "train"  # what most extras bring along, and the largest by far
ABOUT: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def main() -> int:
    """A row per extra, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", default=extras(), help="all, unless named; '' is none")
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--here", action="store_true", help="of this environment, no times")
    arguments = parser.parse_args()
    say("| installed | MB | packages | the largest, MB | seconds | of a processor |")
    say("|---|---|---|---|---|---|")
    if arguments.here:
        for extra in arguments.extras:
            say(_row(extra, {d.name: megabytes(d) for d in closure(extra)}, None))
        return 0
    with tempfile.TemporaryDirectory(prefix="steadyrl-sizes-") as folder:
        wheel = built(Path(folder))
        trained = Path(folder, "train")
        spent = Spent(0, 0)
        if any(BASE in brought(extra) for extra in arguments.extras):
            spent = _installed(BASE, wheel, trained, arguments.constraints)
        for extra in arguments.extras:
            with tempfile.TemporaryDirectory(prefix="steadyrl-extra-") as place:
                over = trained if BASE in brought(extra) else None
                took = _installed(extra, wheel, Path(place), arguments.constraints, over)
                if over:
                    took = took.and_(spent) if extra != BASE else spent
                say(_row(extra, _sizes(Path(place)), took))
    return 0


class Spent(NamedTuple):
    """Seconds by the clock, and those in which a processor worked."""

    clock: float
    processor: float

    def and_(self, other: Spent) -> Spent:
        """Both, one after the other."""
        return Spent(self.clock + other.clock, self.processor + other.processor)


def brought(extra: str) -> set[str]:
    """The extras of ours that come with one, itself among them."""
    named = map(Requirement, ABOUT["optional-dependencies"].get(extra, ()))
    ours = (other for one in named if one.name == ABOUT["name"] for other in one.extras)
    return {extra}.union(*map(brought, ours))


def extras() -> list[str]:
    """None at all, and every extra that users are told of."""
    return ["", *(name for name in ABOUT["optional-dependencies"] if name not in NOT_FOR_USERS)]


def closure(extra: str) -> list[Distribution]:
    """What is installed here of all that an extra asks for, and of what that asks for in turn."""
    known = _here()
    wanted = list(_asked_for(extra))
    found: dict[str, Distribution] = {}
    seen: set[str] = set()
    while wanted:
        one = wanted.pop()
        name = canonicalize_name(one.name)
        if name not in known:
            raise SystemExit(f"{one.name} is not installed here: leave out '{extra}' or --here.")
        found[name] = known[name]
        for chosen in ("", *one.extras):
            if (key := f"{name}[{chosen}]") not in seen:
                seen.add(key)
                wanted += _needed(map(Requirement, known[name].requires or ()), chosen)
    return list(found.values())


@cache
def _here() -> dict[str, Distribution]:
    return {canonicalize_name(found.name): found for found in distributions()}


def _asked_for(extra: str) -> Iterator[Requirement]:
    """By our own table, an extra of ours that it names in place of it."""
    listed = ABOUT["optional-dependencies"][extra] if extra else ABOUT["dependencies"]
    for one in map(Requirement, listed):
        if one.name == ABOUT["name"]:
            for other in one.extras:
                yield from _asked_for(other)
        else:
            yield one
    if extra:
        yield from _asked_for("")


def _needed(all_of_them: Iterable[Requirement], chosen: str) -> Iterator[Requirement]:
    """Those that hold on this machine with this extra."""
    return (r for r in all_of_them if r.marker is None or r.marker.evaluate({"extra": chosen}))


def _installed(
    extra: str, wheel: Path, place: Path, constraints: Path, over: Path | None = None
) -> Spent:
    venv.create(place, with_pip=False)
    if over is not None:  # pip replaces files and never writes into one, so links are safe
        shutil.copytree(_library(over), _library(place), copy_function=os.link, dirs_exist_ok=True)
    asked = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install"]
    began, worked = time.monotonic(), _processor_time()
    run([*pip, "--quiet", "--disable-pip-version-check", "-c", str(constraints), asked], place)
    return Spent(time.monotonic() - began, _processor_time() - worked)


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _library(place: Path) -> Path:
    return next((place / "lib").glob("python*/site-packages"))


def _sizes(place: Path) -> dict[str, float]:
    return {d.name: megabytes(d) for d in distributions(path=[str(_library(place))])}


@cache
def megabytes(package: Distribution) -> float:
    """All its files, byte code included."""
    files = (Path(str(package.locate_file(file))) for file in package.files or ())
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def _row(extra: str, sizes: Mapping[str, float], spent: Spent | None) -> str:
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:SHOWN]
    named = ", ".join(f"{name} {size:,.0f}" for name, size in largest)
    name = f"steadyrl[{extra}]" if extra else "steadyrl"
    took = " | " if spent is None else f"{spent.clock:,.0f} | {spent.processor:,.0f}"
    return f"| `{name}` | {sum(sizes.values()):,.0f} | {len(sizes)} | {named} | {took} |"


if __name__ == "__main__":
    sys.exit(main())
