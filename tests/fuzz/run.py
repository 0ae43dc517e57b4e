"""Damaged files for every reader: each must be read, or refused in words.

    python -m tests.fuzz.run                               1,000 cases for every reader
    python -m tests.fuzz.run --cases 200000 --only npz     many for one
    python -m tests.fuzz.run --case FILE --only npz        one that was found, once more
    python -m tests.fuzz.run --cases 20000 --seed 7 --record    counted in benchmarks/results

Each reader works in a process of its own that may take 1 GB more than it has, and ten seconds of
the processor for a case. A case that ends otherwise is kept in the folder that the last lines name;
put it into tests/unit/test_found_by_fuzzing.py. Every seed makes other cases; one that was recorded
is not run again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import psutil

from steadyrl.core.errors import SteadyError
from steadyrl.core.machine import commit
from tests.fuzz.readers import READERS

MEMORY = 1 << 30  # bytes beyond what the process has
SECONDS = 10
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None  # files that no disk has to take
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzz.json"
SHOWN = 5  # kinds of failure of one reader, after which it is left


class TooSlow(BaseException):
    """A case took longer than it may; no reader can take it for a fault of the file."""


def main() -> int:
    """Every reader in turn; tells what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="for each reader")
    parser.add_argument("--only", nargs="+", choices=list(READERS), default=list(READERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=Path, help="a file that was kept")
    parser.add_argument("--keep", type=Path, help="where found cases are kept")
    parser.add_argument("--record", action="store_true", help=f"count them in {RESULTS.name}")
    arguments = parser.parse_args()
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="steadyrl-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    found = 0
    for name in arguments.only:
        if arguments.record and _is_recorded(name, arguments.seed):
            continue
        case = arguments.case.read_bytes() if arguments.case else None
        counted = fuzzed(name, arguments.cases, arguments.seed, keep, case)
        found += counted["failed"]
        if arguments.record and not counted["failed"]:
            _record(name, arguments.seed, counted)
    sys.stdout.write(f"{found} found" + (f", kept in {keep}\n" if found else "\n"))
    return int(found > 0)


def fuzzed(
    name: str, cases: int, seed: int, keep: Path, case: bytes | None = None
) -> dict[str, int]:
    """One reader in a process of its own: what became of the cases, and what it took."""
    fork = multiprocessing.get_context("fork")
    results: Any = fork.Array("q", 4)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = fork.Process(target=_work, args=(name, cases, seed, keep, case, results))
    process.start()
    process.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    read, refused, failed, most = results
    if process.exitcode != 0:
        failed += 1
        sys.stdout.write(f"{name}: ended with {process.exitcode}; see {keep / f'{name}-last'}\n")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.stdout.write(
        f"{name:15} {read:8,} read {refused:8,} refused {failed:4,} failed {seconds:8,.0f} s\n"
    )
    sys.stdout.flush()
    counts = {"read": read, "refused": refused, "failed": failed}
    return {**counts, "processor_seconds": round(seconds), "most_mb": most >> 10}


def _recorded() -> dict[str, dict[str, Any]]:
    """By reader and by seed: what was counted."""
    found: dict[str, dict[str, Any]] = {}
    if RESULTS.exists():
        found = json.loads(RESULTS.read_text("utf-8"))["readers"]
    return found


def _is_recorded(name: str, seed: int) -> bool:
    return str(seed) in _recorded().get(name, {}).get("seeds", {})


def _record(name: str, seed: int, counted: dict[str, int]) -> None:
    readers = _recorded()
    seeds = readers.get(name, {}).get("seeds", {})
    seeds[str(seed)] = {**counted, "commit": commit()}
    names = ("read", "refused", "failed", "processor_seconds")
    total = {each: sum(part[each] for part in seeds.values()) for each in names}
    cases = total["read"] + total["refused"]
    most = max(part["most_mb"] for part in seeds.values())
    readers[name] = {"cases": cases, **total, "most_mb": most, "seeds": seeds}
    ordered = {each: readers[each] for each in READERS if each in readers}
    text = json.dumps({"benchmark": "fuzz", "readers": ordered}, indent=2) + "\n"
    RESULTS.write_text(text, encoding="utf-8")


def _work(name: str, cases: int, seed: int, keep: Path, case: bytes | None, results: Any) -> None:
    warnings.simplefilter("ignore")
    chance = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        make, read = READERS[name].prepare(Path(scratch))
        limit = psutil.Process().memory_info().vms + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.signal(signal.SIGPROF, _too_slow)
        kinds: set[str] = set()
        for _ in range(1 if case is not None else cases):
            content = make(chance) if case is None else case
            (keep / f"{name}-last").write_bytes(content)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # not by a clock that others slow down
            try:
                read(content)
                results[0] += 1
            except SteadyError:
                results[1] += 1
            except (Exception, TooSlow) as error:
                kind = _kind(error)
                if kind not in kinds:
                    kinds.add(kind)
                    results[2] += 1
                    (keep / f"{name}-{len(kinds)}").write_bytes(content)
                    sys.stdout.write(f"{name}-{len(kinds)}: {kind}\n")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if len(kinds) >= SHOWN:
                break
    results[3] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (keep / f"{name}-last").unlink()


def _kind(error: BaseException) -> str:
    """What it was, and in which line of ours: the same fault is told once."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if "steadyrl" in f.filename]
    where = f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "?"
    return f"{type(error).__name__} in {where}: {str(error)[:150]}"


def _too_slow(*_: object) -> None:
    raise TooSlow(f"more than {SECONDS} seconds")


if __name__ == "__main__":
    sys.exit(main())
