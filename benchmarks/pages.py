"""The page's bars: how fast, how small, how exact, how modest; TensorBoard on the same folder.

python benchmarks/pages.py                     all of it; twenty minutes on an idle machine
python benchmarks/pages.py --only long report  some of it, printed and not kept
python benchmarks/pages.py --quick             everything once and small: does it work at all?

Times are from the browser's request until the first chart has something on it, in a headless
Chromium on this machine, the median of --rounds. Needs chromium (or another of its kind).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browsing import (
    BROWSERS,
    DRAWN,
    JUDGED,
    LINES,
    ROWS,
    TOLD,
    heap,
    memory,
    opened,
    ours,
    peak,
    run_address,
    serving,
    theirs,
    until,
)
from common import conclude
from pages_live import latency, soak, training
from pages_runs import SPIKE, copies, events_only, make_run, mirror
from playwright.sync_api import Browser, sync_playwright

from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.viewer.frame import render_shell, script, style

Found = dict[str, Any]


def long(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """A run of a million Steps and 12 signals: cold, cached, and TensorBoard on the same folder.

    TensorBoard has one signal to read, its event file holds the return alone; that file is read by
    us as well.
    """
    runs, events, count = scratch / "long", scratch / "events", options.steps
    run = make_run(runs / "run", count, 12, odd=True)
    mirror(run, count)
    events_only(run, events / "run")
    taken: dict[str, list[float]] = {}
    held: dict[str, float] = {}
    most: dict[str, float] = {}
    for number in range(options.rounds):
        for name, folder, cache in (
            ("cold", runs, f"cache-{number}"),
            ("cached", runs, f"cache-{number}"),
            ("cold_event_file", events, f"cache-events-{number}"),
            ("tensorboard", runs, "cache-tensorboard"),
        ):
            tensorboard = name == "tensorboard"
            command = theirs(folder) if tensorboard else ours(folder)
            with serving(command, scratch / cache) as (base, process):
                address = f"{base}/#timeseries" if tensorboard else run_address(folder, base)
                seconds, page = opened(browser, address, LINES if tensorboard else DRAWN)
                taken.setdefault(name, []).append(seconds)
                if not tensorboard:
                    taken.setdefault(f"{name}_judged", []).append(seconds + until(page, TOLD))
                held[name], most[name] = memory(process), peak(process)
                page.context.close()
    drawn = json.loads(_first_event(runs, scratch / "cache-0"))["curves"]["rollout.return_mean"]
    return {
        "steps": count,
        "seconds": {name: statistics.median(found) for name, found in taken.items()},
        "all_seconds": taken,
        "memory_mb": held,
        "peak_memory_mb": most,
        "spike_drawn": SPIKE in drawn["y"],
        "nan_drawn": [what for _, what in drawn.get("odd", [])] == ["nan"],
    }


def _first_event(runs: Path, cache: Path) -> str:
    """What the page of a run is told first."""
    with serving(ours(runs), cache) as (base, _):
        address = run_address(runs, base).replace("/run/", "/events/run/")
        command = ["curl", "-sN", "--max-time", "10", address]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.split("data: ", 1)[1].split("\n", 1)[0]


def fleet(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """Many runs: until rows can be read, until those on the screen are judged; what it holds."""
    found: Found = {}
    for count in options.runs:
        folder, cache = scratch / f"fleet-{count}", scratch / f"cache-fleet-{count}"
        folder.mkdir()
        copies(folder, count)
        for name in ("cold", "cached"):
            with serving(ours(folder), cache) as (base, process):
                seconds, page = opened(browser, base, ROWS)
                judged = seconds + until(page, JUDGED)
                found[f"{count}_runs_{name}"] = {
                    "seconds": seconds,
                    "judged_seconds": judged,
                    "heap_mb": heap(page),
                    "memory_mb": memory(process),
                }
                page.wait_for_timeout(2000)  # some of the rest is judged for the second time
                page.context.close()
        if count == min(options.runs):
            with serving(theirs(folder), cache) as (base, process):
                seconds, page = opened(browser, f"{base}/#timeseries", LINES)
                found[f"{count}_runs_tensorboard"] = {
                    "seconds": seconds,
                    "heap_mb": heap(page),
                    "memory_mb": memory(process),
                }
                page.context.close()
        shutil.rmtree(folder)
    return found


def weight(_browser: Browser, _scratch: Path, _options: argparse.Namespace) -> Found:
    """What a browser must load before it can ask for data, compressed."""
    parts = {"shell": render_shell("runs"), "script": script(), "style": style()}
    sizes = {name: len(gzip.compress(text.encode())) for name, text in parts.items()}
    return {**sizes, "gzipped_bytes": sum(sizes.values())}


def report(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """Nine runs of 20,000 Steps and 40 signals in one file."""
    steps = min(20_000, options.steps)
    runs = [make_run(scratch / "report" / f"run-{n}", steps, 40, seed=n) for n in range(9)]
    begun = time.perf_counter()
    page = write_report([open_run(run) for run in runs], scratch / "report.html")
    written = time.perf_counter() - begun
    seconds = []
    for _ in range(options.rounds):
        taken, shown = opened(browser, page.as_uri(), DRAWN)
        seconds.append(taken)
        shown.context.close()
    return {
        "bytes": page.stat().st_size,
        "seconds": statistics.median(seconds),
        "written_in_seconds": written,
    }


PARTS: dict[str, Callable[[Browser, Path, argparse.Namespace], Found]] = {
    part.__name__: part for part in (weight, report, long, fleet, latency, training, soak)
}
BARS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("1M Steps, first chart, cached: s", 1.0, ("long", "seconds", "cached")),
    ("1M Steps x 12 signals, first chart, cold: s", 6.0, ("long", "seconds", "cold")),
    ("event file of 1M points, cold: s", 2.0, ("long", "seconds", "cold_event_file")),
    (
        "1,000 runs, those on the screen judged: s",
        1.0,
        ("fleet", "1000_runs_cold", "judged_seconds"),
    ),
    (
        "10,000 runs, those on the screen judged: s",
        2.0,
        ("fleet", "10000_runs_cold", "judged_seconds"),
    ),
    ("10,000 runs: heap, MB", 50.0, ("fleet", "10000_runs_cold", "heap_mb")),
    ("Step to pixel, p95: s", 1.5, ("latency", "p95_seconds")),
    ("idle: bytes/s", 1000.0, ("latency", "idle_bytes_per_second")),
    ("page, gzipped: bytes", 100_000.0, ("weight", "gzipped_bytes")),
    ("report, 9 runs x 40 signals: bytes", 2e6, ("report", "bytes")),
    ("report, first chart: s", 1.0, ("report", "seconds")),
    ("server on 1M Steps, cold: MB", 150.0, ("long", "memory_mb", "cold")),
    ("server on 10,000 runs: MB", 150.0, ("fleet", "10000_runs_cold", "memory_mb")),
    ("server after the soak: growth", 0.05, ("soak", "growth")),
    ("training slowed, followed from elsewhere", 0.005, ("training", "slowed_followed", "share")),
)


def bars(result: Found) -> list[Found]:
    """Every bar of a part that was measured: what was found, and whether it is met."""
    found = []
    for name, most, place in BARS:
        value: Any = result
        for step in place:
            value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            met = bool(value <= most)
            found.append({"bar": name, "most": most, "found": value, "met": met})
    return found


def main() -> None:
    """Measure, print, and keep what is whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="small and once; nothing is kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the long run")
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--written", type=int, default=40, help="Steps whose way is timed")
    parser.add_argument("--pairs", type=int, default=8, help="of trainings")
    parser.add_argument("--minutes", type=float, default=6.0, help="of the soak")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.steps, options.runs, options.written = 1, 20_000, [100, 1000], 5
        options.pairs, options.minutes = 1, 0.5
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit(f"there is no {', '.join(BROWSERS)}: apt-get install chromium")
    result: Found = {}
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for part in options.only:
            load, begun = os.getloadavg()[0], time.perf_counter()
            found = PARTS[part](browser, Path(scratch), options)
            took = time.perf_counter() - begun
            result[part] = {**found, "load_before": load, "took_seconds": took}
            sys.stderr.write(f"{part}, {took:.0f} s, load {load:.1f}: {json.dumps(found)}\n")
        browser.close()
    result["bars"] = bars(result)
    for bar in result["bars"]:
        said = "met   " if bar["met"] else "MISSED"
        sys.stderr.write(f"{said} {bar['bar']}: {bar['found']:.4g} (at most {bar['most']:g})\n")
    whole = set(options.only) == set(PARTS) and options.steps >= 1_000_000
    conclude("pages", result, keep=whole)


if __name__ == "__main__":
    main()
