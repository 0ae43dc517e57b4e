"""The page's bars: how fast, how small, how exact, how modest; TensorBoard on the same folder.

python benchmarks/pages.py                     all of it; the soak takes an hour
python benchmarks/pages.py --only long report  some of it, printed and not kept
python benchmarks/pages.py --minutes 5         a shorter soak

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
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from browsing import (
    BROWSERS,
    DRAWN,
    LINES,
    ROWS,
    heap,
    memory,
    opened,
    ours,
    run_address,
    serving,
    theirs,
    until,
)
from common import conclude
from pages_runs import SPIKE, copies, line, make_run, mirror, names, values
from playwright.sync_api import Browser, sync_playwright

from steadyrl.core.presets import load_config
from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.store.writer import RunWriter
from steadyrl.viewer.frame import render_shell, script, style

Found = dict[str, Any]


def long(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """A run of a million Steps: cold, cached, and what TensorBoard makes of the same folder."""
    runs, count = scratch / "long", options.steps
    run = make_run(runs / "run", count, 12, odd=True)
    mirror(run, count)
    cold, cached, theirs_seconds = [], [], []
    for number in range(options.rounds):
        cache = scratch / f"cache-{number}"
        for kept in (cold, cached):
            with serving(ours(runs), cache) as (base, process):
                seconds, page = opened(browser, run_address(runs, base), DRAWN)
                kept.append(seconds)
                held = memory(process)
                said = page.locator("figcaption").first.inner_text()
                page.context.close()
        with serving(theirs(runs), cache) as (base, process):
            seconds, page = opened(browser, f"{base}/#timeseries", LINES)
            theirs_seconds.append(seconds)
            tensorboard_memory = memory(process)
            page.context.close()
    drawn = json.loads(_first_event(runs, scratch / "cache-0"))["curves"]["rollout.return_mean"]
    return {
        "steps": count,
        "cold_seconds": statistics.median(cold),
        "cached_seconds": statistics.median(cached),
        "tensorboard_seconds": statistics.median(theirs_seconds),
        "memory_mb": held,
        "tensorboard_memory_mb": tensorboard_memory,
        "spike_drawn": SPIKE in drawn["y"],
        "nan_drawn": [what for _, what in drawn.get("odd", [])] == ["nan"] and "nan" in said,
    }


def _first_event(runs: Path, cache: Path) -> str:
    """What the page of a run is told first."""
    with serving(ours(runs), cache) as (base, _):
        command = [
            "curl",
            "-sN",
            "--max-time",
            "20",
            run_address(runs, base).replace("/run/", "/events/run/"),
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.split("data: ", 1)[1].split("\n", 1)[0]


def fleet(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """Many runs: until rows can be read, and what the page holds."""
    found: Found = {}
    for count in options.runs:
        folder = scratch / f"fleet-{count}"
        folder.mkdir()
        copies(folder, count)
        with serving(ours(folder), scratch / "cache-fleet") as (base, process):
            seconds, page = opened(browser, base, ROWS)
            found[f"{count}_runs"] = {
                "seconds": seconds,
                "heap_mb": heap(page),
                "memory_mb": memory(process),
            }
            page.context.close()
        shutil.rmtree(folder)
    return found


def growing(folder: Path, rate: float, stop: threading.Event) -> threading.Thread:
    """A run that is written at so many Steps a second until it is stopped."""
    writer = RunWriter.create(folder / "run", load_config("ppo/cartpole"))
    called, rows = names(12), values(1000, 12).tolist()

    def write() -> None:
        with (folder / "run" / "steps.jsonl").open("ab", buffering=0) as file:
            index = 0
            while not stop.wait(1 / rate):
                index += 1
                file.write(line(index, called, rows[index % 1000]))
        writer.close()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def latency(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """From a Step's last byte until the page has drawn it; and the traffic when nothing happens."""
    folder = scratch / "latency"
    run = make_run(folder / "run", 200, 12)
    (run / "summary.json").unlink()
    taken = names(12)
    delays, generator = [], np.random.default_rng(0)
    with serving(ours(folder), scratch / "cache-latency") as (base, _):
        _, page = opened(browser, run_address(folder, base), DRAWN)
        for index in range(201, 201 + options.written):
            page.wait_for_timeout(float(generator.uniform(200, 1500)))
            with (run / "steps.jsonl").open("ab", buffering=0) as file:
                file.write(line(index, taken, values(1, 12)[0].tolist()))
            shown = f"() => document.querySelector('.facts').innerText.includes('{index * 128:,}')"
            delays.append(until(page, shown, 10.0))
        page.wait_for_timeout(5000)
        received = [0]
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on(
            "Network.dataReceived", lambda e: received.__setitem__(0, received[0] + e["dataLength"])
        )
        page.wait_for_timeout(30_000)
    return {
        "written": len(delays),
        "p50_seconds": float(np.percentile(delays, 50)),
        "p95_seconds": float(np.percentile(delays, 95)),
        "idle_bytes_per_second": received[0] / 30,
    }


def weight(_browser: Browser, _scratch: Path, _options: argparse.Namespace) -> Found:
    """What a browser must load before it can ask for data, compressed."""
    parts = {"shell": render_shell("runs"), "script": script(), "style": style()}
    sizes = {name: len(gzip.compress(text.encode())) for name, text in parts.items()}
    return {**sizes, "gzipped_bytes": sum(sizes.values())}


def report(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """Nine runs of 20,000 Steps and 40 signals in one file."""
    runs = [make_run(scratch / "report" / f"run-{n}", 20_000, 40, seed=n) for n in range(9)]
    page = write_report([open_run(run) for run in runs], scratch / "report.html")
    seconds = [opened(browser, page.as_uri(), DRAWN)[0] for _ in range(options.rounds)]
    return {"bytes": page.stat().st_size, "seconds": statistics.median(seconds)}


def soak(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """A run that writes 100 Steps a second, looked at all the time: what grows."""
    folder, stop = scratch / "soak", threading.Event()
    folder.mkdir()
    thread = growing(folder, 100.0, stop)
    try:
        time.sleep(5)
        with serving(ours(folder), scratch / "cache-soak") as (base, process):
            _, page = opened(browser, run_address(folder, base), DRAWN)
            page.wait_for_timeout(1000 * min(300, 12 * options.minutes))  # caches fill first
            first = memory(process), heap(page)
            page.wait_for_timeout(60_000 * options.minutes)
            last = memory(process), heap(page)
    finally:
        stop.set()
        thread.join()
    return {
        "minutes": options.minutes,
        "memory_mb": [first[0], last[0]],
        "growth": last[0] / first[0] - 1,
        "heap_mb": [first[1], last[1]],
    }


def training(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """The same training with and without somebody looking, in turns."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * options.rounds):
        looked = number % 2 == 1
        folder = scratch / f"training-{number}"
        folder.mkdir()
        with serving(ours(folder), scratch / "cache-training") as (base, _):
            page = (
                opened(browser, base, "() => document.querySelector('main')")[1] if looked else None
            )
            command = [sys.executable, "-m", "steadyrl", "train", "ppo/cartpole", "--runs"]
            begun = time.perf_counter()
            subprocess.run([*command, str(folder), "--quiet"], check=True, capture_output=True)
            seconds[looked].append(time.perf_counter() - begun)
            if page:
                page.context.close()
    alone, watched = (statistics.median(seconds[looked]) for looked in (False, True))
    return {"alone_seconds": alone, "watched_seconds": watched, "slowed": watched / alone - 1}


PARTS: dict[str, Callable[[Browser, Path, argparse.Namespace], Found]] = {
    part.__name__: part for part in (weight, report, long, fleet, latency, training, soak)
}


def main() -> None:
    """Measure, print, and keep what is whole."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the long run")
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--written", type=int, default=40, help="Steps whose way is timed")
    parser.add_argument("--minutes", type=float, default=60.0, help="of the soak")
    options = parser.parse_args()
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit(f"there is no {', '.join(BROWSERS)}: apt-get install chromium")
    result: Found = {}
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for part in options.only:
            sys.stderr.write(f"{part} ...\n")
            load = os.getloadavg()[0]
            result[part] = {**PARTS[part](browser, Path(scratch), options), "load": load}
            sys.stderr.write(f"{json.dumps(result[part])}\n")
        browser.close()
    whole = set(options.only) == set(PARTS) and options.steps >= 1_000_000
    conclude("pages", result, keep=whole)


if __name__ == "__main__":
    main()
