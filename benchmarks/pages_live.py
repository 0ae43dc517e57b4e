"""Parts of benchmarks/pages.py in which something is written while somebody looks."""

from __future__ import annotations

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from browsing import DRAWN, heap, memory, opened, ours, run_address, serving, until
from common import ONE_THREAD, paired
from pages_runs import line, make_run, names, values
from playwright.sync_api import Browser, Page

from steadyrl.core.presets import load_config
from steadyrl.dashboard.folder import Folder
from steadyrl.store.writer import RunWriter

Found = dict[str, Any]
SOAKED = 360_000  # Steps: an hour of 100 a second
TICK = 0.02  # seconds between two writings
# A value that is told by four digits, of a Step that is then the chart's last.
LAST = "() => document.querySelector('figcaption .at').innerText === 'last {value:,}'"


def latency(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """From a Step's last byte until its value stands at its chart; and the traffic in silence."""
    folder = scratch / "latency"
    run = make_run(folder / "run", 200, 12)
    (run / "summary.json").unlink()
    taken, generator = names(12), np.random.default_rng(0)
    delays = []
    with serving(ours(folder), scratch / "cache-latency") as (base, _):
        _, page = opened(browser, run_address(folder, base), DRAWN)
        for index in range(201, 201 + options.written):
            page.wait_for_timeout(float(generator.uniform(200, 1500)))
            row = [1000.0 + index, *values(1, 12)[0].tolist()[1:]]
            with (run / "steps.jsonl").open("ab", buffering=0) as file:
                file.write(line(index, taken, row))
            delays.append(until(page, LAST.format(value=1000 + index), 10.0))
        page.wait_for_timeout(5000)
        idle = _traffic(page, 30.0)
    return {
        "written": len(delays),
        "p50_seconds": float(np.percentile(delays, 50)),
        "p95_seconds": float(np.percentile(delays, 95)),
        "idle_bytes_per_second": idle,
    }


def _traffic(page: Page, seconds: float) -> float:
    """Bytes a second that a page is sent."""
    received: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.dataReceived", lambda event: received.append(event["dataLength"]))
    page.wait_for_timeout(1000 * seconds)
    return sum(received) / seconds


def soak(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """The Steps of an hour at 100 a second, in --minutes, looked at all the time: what grows."""
    folder, stop = scratch / "soak", threading.Event()
    folder.mkdir()
    rate = SOAKED / (60 * options.minutes)
    thread = threading.Thread(target=_write, args=(folder / "run", rate, stop), daemon=True)
    thread.start()
    try:
        time.sleep(3)
        with serving(ours(folder), scratch / "cache-soak") as (base, process):
            _, page = opened(browser, run_address(folder, base), DRAWN)
            if not page.evaluate(DRAWN):
                sys.exit("the page of the run that is written was not drawn in two minutes")
            held = []
            for _ in range(20):
                page.wait_for_timeout(60_000 * options.minutes / 20)
                held.append((memory(process), heap(page)))
    finally:
        stop.set()
        thread.join()
    steps = sum(1 for _ in (folder / "run" / "steps.jsonl").open("rb"))
    server, scripts = [one for one, _ in held], [one for _, one in held]
    filled = len(held) // 5  # caches fill first
    return {
        "minutes": options.minutes,
        "steps": steps,
        "memory_mb": server,
        "heap_mb": scripts,
        "growth": max(server[-4:]) / max(server[filled : filled + 4]) - 1,
        "heap_growth": max(scripts[-4:]) / max(scripts[filled : filled + 4]) - 1,
        # What is held between two verdicts, and while one is made.
        "lowest_memory_mb": [min(server[filled : filled + 5]), min(server[-5:])],
        "highest_memory_mb": max(server),
        "highest_heap_mb": max(scripts),
    }


def _write(path: Path, rate: float, stop: threading.Event) -> None:
    """A run that is written at so many Steps a second until it is stopped."""
    config = load_config("ppo/cartpole").replaced({"total_env_steps": 2 * SOAKED * 128})
    writer = RunWriter.create(path, config)
    called, rows = names(12), values(1000, 12).tolist()
    index, begun = 0, time.perf_counter()
    with (path / "steps.jsonl").open("ab", buffering=0) as file:
        while not stop.wait(TICK):
            due = min(2 * SOAKED, int(rate * (time.perf_counter() - begun)))
            written = [line(i, called, rows[i % 1000]) for i in range(index + 1, due + 1)]
            file.write(b"".join(written))
            index = due
    writer.close()


def training(browser: Browser, scratch: Path, options: argparse.Namespace) -> Found:
    """The same training, alone, followed from elsewhere, and by a browser beside it, in turns.

    From elsewhere: its page's stream is read by this program, and nothing is drawn. A browser on
    the same two cores draws without a graphics card, which takes more than the server.
    """
    seconds: dict[str, list[float]] = {"alone": [], "followed": [], "browser": []}
    worked: dict[str, list[float]] = {name: [] for name in seconds}
    served: dict[str, list[float]] = {name: [] for name in seconds}
    ways = list(seconds)
    for pair in range(options.pairs):
        for way in ways if pair % 2 else reversed(ways):  # no way is always first
            folder = scratch / f"training-{pair}-{way}"
            folder.mkdir()
            with serving(ours(folder), scratch / "cache-training") as (base, server):
                elapsed, own, its = _trained(way, browser, folder, base, server)
            seconds[way].append(elapsed)
            worked[way].append(own)
            served[way].append(its / elapsed)
    found: Found = {"pairs": options.pairs}
    found |= {f"{way}_seconds": statistics.median(taken) for way, taken in seconds.items()}
    for way in ("followed", "browser"):
        found[f"slowed_{way}"] = _slowed(seconds[way], seconds["alone"])
        found[f"slowed_{way}_by_processor_time"] = _slowed(worked[way], worked["alone"])
        found[f"server_share_of_a_core_{way}"] = statistics.median(served[way])
    return found


def _slowed(taken: list[float], alone: list[float]) -> Found:
    """How much longer it took, relative, over the pairs; its interval is null below 6."""
    found = paired(list(np.log(taken)), list(np.log(alone)))
    return {"share": found["difference"], "interval": found["interval"]}


def _trained(
    way: str, browser: Browser, folder: Path, base: str, server: psutil.Process
) -> tuple[float, float, float]:
    """Seconds that a training took, its own processor time, and the server's meanwhile."""
    command = [sys.executable, "-m", "steadyrl", "train", "ppo/cartpole", "--runs", str(folder)]
    before = sum(server.cpu_times()[:2])
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--quiet"], stdout=subprocess.DEVNULL, env={**os.environ, **ONE_THREAD}
    )
    page = None
    if way != "alone":
        while not Folder(folder).look():
            time.sleep(0.05)
    if way == "browser":
        _, page = opened(browser, run_address(folder, base), DRAWN)
    elif way == "followed":
        stream = run_address(folder, base).replace("/run/", "/events/run/")
        threading.Thread(target=_read_on, args=(stream,), daemon=True).start()
    _, status, used = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - begun
    process.returncode = status
    if status:
        sys.exit("the training failed")
    if page is not None:
        page.context.close()
    return elapsed, used.ru_utime + used.ru_stime, sum(server.cpu_times()[:2]) - before


def _read_on(address: str) -> None:
    """A stream, until its server is gone."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, http.client.HTTPException), direct.open(address) as answer:
        for _ in answer:
            pass
