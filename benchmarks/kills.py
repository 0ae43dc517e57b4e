"""SIGKILL at random moments, over every algorithm and every command that writes.

    python benchmarks/kills.py                          a thousand kills
    python benchmarks/kills.py --count 50 --only ppo    some of them
    python benchmarks/kills.py --record --seed 3        counted as they come; a second start goes on

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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from common import ROOT, conclude, machine
from kill_victims import VICTIMS, Victim

from steadyrl.experiments.verify_resume import compare_runs

RESULTS = ROOT / "benchmarks" / "results" / "kills.json"
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None  # SIGKILL loses nothing written there
MOST_KILLS = 6  # of one victim: then it is let go
# What a result says of the clock, the machine and the place, which differ by right.
NOT_COMPARED = {
    *("seconds", "minutes", "env_steps_per_second", "samples_per_second", "utilisation"),
    *("date", "machine", "commit", "report", "folder", "path", "run", "output"),
}


def main() -> None:
    """Kill, compare, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="kills")
    parser.add_argument("--only", nargs="+", choices=list(VICTIMS), default=list(VICTIMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 kills")
    parser.add_argument("--record", action="store_true", help="count them in results/kills.json")
    parser.add_argument("--json", action="store_true", help="only the last line")
    arguments = parser.parse_args()
    say = (lambda _: None) if arguments.json else _tell
    count = 20 if arguments.quick else arguments.count
    counts = _recorded(arguments.seed) if arguments.record else Counts()
    with tempfile.TemporaryDirectory(prefix="steadyrl-kills-", dir=SCRATCH) as folder:
        for told in killed(Path(folder), arguments.only, count, arguments.seed, counts):
            say(told)
            if arguments.record:
                _record(arguments.seed, counts)
    told = {"kills": counts.kills, "count": counts.total, "differences": counts.differences}
    whole = not arguments.quick and not arguments.record and count >= 1000
    conclude("kills", told, keep=whole and not counts.differences)
    sys.exit(bool(counts.differences))


@dataclass
class Counts:
    """How far it has come: victims that were taken in turn, their kills, what differed."""

    turns: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All kills."""
        return sum(self.kills.values())


def killed(
    folder: Path, names: Sequence[str], count: int, seed: int, counts: Counts
) -> Iterator[str]:
    """So many kills over the victims, one after the other; tells and counts what came of each."""
    lengths: dict[str, float] = {}
    while counts.total < count:
        chance = random.Random(f"{seed} {counts.turns}")  # so that a second start goes on
        name = names[counts.turns % len(names)]
        unbroken, broken = folder / f"{name}-unbroken", folder / f"{name}-broken"
        if name not in lengths:
            lengths[name] = _whole(name, unbroken)
        wanted = min(chance.randint(1, MOST_KILLS), count - counts.total)
        done = _kill_again_and_again(name, broken, wanted, lengths[name], chance)
        found = [f"{name}: {text}" for text in _differences(VICTIMS[name], unbroken, broken)]
        counts.kills[name] = counts.kills.get(name, 0) + done
        counts.differences += found
        counts.turns += 1
        shutil.rmtree(broken)
        shown = "".join(f"\n      {text}" for text in found[:5])
        yield f"{counts.total:5} kills  {name:9} {done} kills, {len(found)} differences{shown}"


def _recorded(seed: int) -> Counts:
    """What an earlier start with this seed has counted."""
    if not RESULTS.exists():
        return Counts()
    known = json.loads(RESULTS.read_text("utf-8")).get("seeds", {}).get(str(seed), {})
    return Counts(**{name: known[name] for name in ("turns", "kills", "differences") if known})


def _record(seed: int, counts: Counts) -> None:
    """Add up over all seeds."""
    held = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    seeds = {**held.get("seeds", {}), str(seed): {**asdict(counts), "machine": machine()}}
    kills = Counter[str]()
    for each in seeds.values():
        kills.update(each["kills"])
    differences = [text for each in seeds.values() for text in each["differences"]]
    told = {"kills": dict(kills), "count": kills.total(), "differences": differences}
    text = json.dumps({"benchmark": "kills", **told, "seeds": seeds}, indent=2) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


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
    os.chdir(folder)  # results name configs by their paths, which must be the same for both
    with (
        folder.with_suffix(".log").open("a", encoding="utf-8") as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        code = VICTIMS[name].begin(Path())
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
