"""SIGKILL at random moments, over every algorithm and every command that writes.

    python benchmarks/kills.py                          a thousand kills
    python benchmarks/kills.py --count 50 --only ppo    some of them

Each victim is a command in a process of its own that is killed at a random moment, begun again as a
user would, killed again, and let go to its end. Then every run below its folder must have the Steps
of the unbroken one and the same last checkpoint, bit for bit, and its result must say the same.
Victims are forked from a process that has imported everything, so that kills meet work, not
imports; experiments run on one worker. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from common import conclude
from kill_victims import VICTIMS, Victim

from steadyrl.experiments.verify_resume import compare_runs

MOST_KILLS = 6  # of one victim: then it is let go
# What a result says of the clock, the machine and the place, which differ by right.
NOT_COMPARED = {"seconds", "date", "machine", "commit", "report", "folder", "path", "run", "output"}


def main() -> None:
    """Kill, compare, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="kills")
    parser.add_argument("--only", nargs="+", choices=list(VICTIMS), default=list(VICTIMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 kills")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    say = (lambda _: None) if arguments.json else _tell
    count = 20 if arguments.quick else arguments.count
    with tempfile.TemporaryDirectory(prefix="steadyrl-kills-") as folder:
        kills, differences = killed(Path(folder), arguments.only, count, arguments.seed, say)
    told = {"kills": kills, "count": sum(kills.values()), "differences": differences}
    conclude("kills", told, keep=not arguments.quick and count >= 1000 and not differences)
    sys.exit(bool(differences))


def killed(
    folder: Path, names: Sequence[str], count: int, seed: int, say: Callable[[str], None]
) -> tuple[dict[str, int], list[str]]:
    """So many kills in turn over the victims: how many each had, and what differed afterwards."""
    chance, kills = random.Random(seed), dict.fromkeys(names, 0)
    lengths: dict[str, float] = {}
    differences: list[str] = []
    while sum(kills.values()) < count:
        for name in names:
            unbroken = folder / f"{name}-unbroken"
            if name not in lengths:
                lengths[name] = _whole(name, unbroken)
            broken = folder / f"{name}-broken"
            wanted = min(chance.randint(1, MOST_KILLS), count - sum(kills.values()))
            done = _kill_again_and_again(name, broken, wanted, lengths[name], chance)
            found = [f"{name}: {text}" for text in _differences(VICTIMS[name], unbroken, broken)]
            kills[name] += done
            differences += found
            say(f"{sum(kills.values()):5} kills  {name:9} {done} kills, {len(found)} differences")
            for text in found[:5]:
                say(f"      {text}")
            shutil.rmtree(broken)
            if sum(kills.values()) >= count:
                break
    return kills, differences


def _whole(name: str, folder: Path) -> float:
    """The unbroken one; returns how long it took."""
    began = time.monotonic()
    process = _started(name, folder)
    process.join()
    if process.exitcode != 0:
        log = folder.with_suffix(".log").read_text("utf-8")
        sys.exit(f"{name}: exit code {process.exitcode} without any kill:\n{log[-2000:]}")
    return time.monotonic() - began


def _kill_again_and_again(
    name: str, folder: Path, wanted: int, seconds: float, chance: random.Random
) -> int:
    done = 0
    for _ in range(2 * wanted):  # some end before their moment comes
        process = _started(name, folder)
        process.join(timeout=chance.uniform(0.0, seconds))
        if process.exitcode is None:
            _kill(process, alone=chance.random() < 0.5)
            done += 1
        elif process.exitcode != 0:
            break  # told by the comparison: what it left is not what the unbroken one did
        if done == wanted:
            break
    process = _started(name, folder)
    process.join()
    if process.exitcode != 0:
        sys.stderr.write(folder.with_suffix(".log").read_text("utf-8")[-2000:])
    return done


def _kill(process: Any, *, alone: bool) -> None:
    """The process, with or without those that it has started."""
    if alone:
        os.kill(process.pid, signal.SIGKILL)
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def _started(name: str, folder: Path) -> Any:
    begun = multiprocessing.get_context("fork").Value("b", 0)
    process = multiprocessing.get_context("fork").Process(
        target=_victim, args=(name, folder, begun)
    )
    process.start()
    while process.is_alive() and not begun.value:  # before that it has no group of its own
        time.sleep(0.001)
    return process


def _victim(name: str, folder: Path, begun: Any) -> None:
    os.setsid()
    begun.value = 1
    folder.mkdir(exist_ok=True)
    with (
        folder.with_suffix(".log").open("a", encoding="utf-8") as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        code = VICTIMS[name].begin(folder)
        log.flush()
    os._exit(code)


def _differences(victim: Victim, unbroken: Path, broken: Path) -> list[str]:
    """Runs that lack or part, and a result that says something else."""
    found = []
    for run in sorted(file.parent for file in unbroken.rglob("summary.json")):
        other = broken / run.relative_to(unbroken)
        if not (other / "summary.json").is_file():
            found.append(f"{run.relative_to(unbroken)} was not made")
            continue
        parts = compare_runs(run, other).differences
        found += [f"{run.relative_to(unbroken)}: {text}" for text in parts[:3]]
    if victim.result is not None:
        ours, theirs = (_plain(folder / victim.result) for folder in (unbroken, broken))
        if ours != theirs:
            found.append(f"{victim.result} says something else")
    return found


def _plain(file: Path) -> Any:
    return _without(json.loads(file.read_text("utf-8"))) if file.is_file() else None


def _without(value: Any) -> Any:
    """A result without what differs by right; NaN as text, for it is not equal to itself."""
    if isinstance(value, dict):
        return {name: _without(v) for name, v in value.items() if name not in NOT_COMPARED}
    if isinstance(value, list):
        return [_without(item) for item in value]
    return str(value) if isinstance(value, float) else value


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
