"""How long the commands take that people wait for: help, what only reads, a long run judged.

Each command in a process of its own, from start to end: the median of the rounds' wall-clock times,
and of the processor's time beside it, which other programs disturb less. Modules are compiled
before, as installing a package compiles them. The long run has as many Steps as `--steps` says,
with the signals of a short TRPO run that is trained for it; it is judged for the first time, and
again with what is then kept in the cache. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import conclude

from steadyrl.core.presets import load_config
from steadyrl.run import train

SHORT = {"total_env_steps": 8192, "rollout_length": 64, "environment.count": 4}
UNCOMPILED = "PYTHONDONTWRITEBYTECODE"  # with it every start compiles every module again


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 round, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=100_000, help="of the long run")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        short, long = Path(scratch) / "short", Path(scratch) / "long"
        train(load_config("trpo/v2-cartpole", SHORT), short)
        size = lengthened(short, long, arguments.steps)
        commands = {
            "--help": ("--help",),
            "--version": ("--version",),
            "train --help": ("train", "--help"),
            "diagnose --help": ("diagnose", "--help"),
            "presets": ("presets",),
            "signals": ("signals",),
            "rules": ("rules",),
            "explain D101": ("explain", "D101"),
            "schema": ("schema",),
            "schema ddpg": ("schema", "ddpg"),
            "check ddpg/pendulum": ("check", "ddpg/pendulum"),
            "diagnose": ("diagnose", str(short)),
            f"diagnose {arguments.steps:,} Steps": ("diagnose", str(long)),
            f"diagnose {arguments.steps:,} Steps, first look": ("diagnose", str(long)),
        }
        cache = Path(scratch) / "cache"
        for name, command in commands.items():
            results[name] = timed(command, rounds, cache, forgetting=name.endswith("first look"))
            if not arguments.json:
                sys.stdout.write(f"{name}: {results[name]}\n")
    told = {"rounds": rounds, "long_run_mb": round(size / 1e6, 1), "commands": results}
    conclude("commands", told, keep=not arguments.quick)


def timed(
    command: Sequence[str], rounds: int, cache: Path, *, forgetting: bool
) -> dict[str, float]:
    """Medians of wall-clock and processor seconds, imports and all."""
    walls, processors = [], []
    environment = {name: value for name, value in os.environ.items() if name != UNCOMPILED}
    environment["XDG_CACHE_HOME"] = str(cache)
    for _ in range(1 + rounds):
        if forgetting:
            shutil.rmtree(cache, ignore_errors=True)
        began, before = time.perf_counter(), _children()
        subprocess.run(
            [sys.executable, "-m", "steadyrl", *command],
            stdout=subprocess.DEVNULL,
            env=environment,
            check=True,
        )
        walls.append(time.perf_counter() - began)
        processors.append(_children() - before)
    del walls[0], processors[0]  # compiled what had changed, and filled the cache
    return {
        "seconds": round(statistics.median(walls), 3),
        "processor_seconds": round(statistics.median(processors), 3),
    }


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lengthened(short: Path, long: Path, steps: int) -> int:
    """A run with the short one's Steps over and over, each value a little other; its size."""
    long.mkdir()
    for name in ("config.yaml", "events.jsonl"):
        (long / name).write_bytes((short / name).read_bytes())
    records = [json.loads(line) for line in (short / "steps.jsonl").open(encoding="utf-8")]
    chance, apart = random.Random(0), records[-1]["taken"] // len(records)
    with (long / "steps.jsonl").open("w", encoding="utf-8") as file:
        for index in range(1, steps + 1):
            signals = records[index % len(records)]["signals"]
            numbers = {n: v for n, v in signals.items() if isinstance(v, float)}
            other = {n: v * (1.0 + 1e-3 * chance.random()) for n, v in numbers.items()}
            head = {"index": index, "taken": index * apart, "seconds": index * 0.01}
            file.write(json.dumps({**head, "signals": {**signals, **other}}) + "\n")
    summary = {"status": "finished", "steps": steps}
    (long / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return (long / "steps.jsonl").stat().st_size


if __name__ == "__main__":
    main()
