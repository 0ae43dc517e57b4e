"""What benchmarks of pages share: servers in processes of their own, and a browser to look."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page

from steadyrl.dashboard.folder import Folder

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRAWN = """() => [...document.querySelectorAll("canvas")].some((c) => c.width > 0 &&
    c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0))"""
ROWS = "() => document.querySelectorAll('.rows .row').length > 5"
JUDGED = """() => { const rows = [...document.querySelectorAll('.rows .row')];
    return rows.length > 5 && !rows.some((row) => row.innerText.includes('reading')); }"""
# Of a long run the curves come first: whether what is said of them is there too.
TOLD = "() => !document.body.innerText.includes('verdict on them is being worked out')"
HERE = ("http://127.0.0.1", "http://localhost")
# TensorBoard's charts are elements of its own, some of them hidden from a plain query.
LINES = """() => { const drawn = "canvas, line-chart svg path, .series-view svg path";
    const seen = (root) => [...root.querySelectorAll("*")].some((one) =>
        one.matches(drawn) || (one.shadowRoot && seen(one.shadowRoot)));
    return seen(document); }"""


@contextmanager
def serving(command: list[str], cache: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A server in a process of its own, its address and itself."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            found = next(word for text in process.stdout for word in text.split() if _here(word))
            yield found.rstrip("/"), psutil.Process(process.pid)
        finally:
            process.kill()


def _here(word: str) -> bool:
    return word.startswith(HERE)


def ours(folder: Path) -> list[str]:
    """The command of our dashboard."""
    return [sys.executable, "-m", "steadyrl", "dashboard", str(folder), "--port", "0"]


def theirs(folder: Path) -> list[str]:
    """The command of TensorBoard."""
    options = ["--logdir", str(folder), "--port", "0", "--host", "127.0.0.1"]
    return [sys.executable, "-m", "tensorboard.main", *options]


def until(page: Page, true: str, patience: float = 120.0) -> float:
    """Seconds until an expression is true; our policy forbids Playwright's way of waiting."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < patience:
        if page.evaluate(true):
            return time.perf_counter() - begun
        page.wait_for_timeout(10)
    return float("nan")


def opened(browser: Browser, address: str, true: str) -> tuple[float, Page]:
    """Seconds from the request until a page shows what it should, and the page."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    begun = time.perf_counter()
    page.goto(address, wait_until="commit")
    until(page, true)
    return time.perf_counter() - begun, page


def memory(process: psutil.Process) -> float:
    """Megabytes that a server and its children hold."""
    held = [process, *process.children(recursive=True)]
    return sum(one.memory_info().rss for one in held) / 1e6


def peak(process: psutil.Process) -> float:
    """Megabytes that a server held at most (Linux)."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return float(text.split("VmHWM:")[1].split()[0]) / 1e3


def heap(page: Page) -> float:
    """Megabytes of JavaScript's heap."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def run_address(folder: Path, base: str) -> str:
    """The address of the only run of a folder."""
    return f"{base}/run/{next(iter(Folder(folder).look()))}"
