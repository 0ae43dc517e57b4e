"""The screenshots of the documentation: python docs/screenshots.py.

From what `make demo` wrote (runs/demo), from a ladder in runs/ladder-stage1 (docs/ladder.md says
how it was run) and from the kept curves of Breakout. What is not there is left as it is, and said.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from steadyrl.core.presets import load_config
from steadyrl.core.records import Step
from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.report.results import write_result
from steadyrl.store.writer import RunWriter
from steadyrl.viewer.frame import write_page
from steadyrl.views.milestones import measure_all, milestones_page

DOCS = Path(__file__).parent
DEMO, LADDER = Path("runs/demo"), Path("runs/ladder-stage1")
CURVES = DOCS.parent / "benchmarks" / "results" / "breakout_curves.json"
PRESETS = {"ppo": "ppo/breakout", "trpo-v2": "trpo/v2-breakout", "trpo": "trpo/breakout"}
DRAWN_MS = 3_000
JUDGED_MS = 300_000
JUDGED = "() => !/reading|not yet judged/i.test(document.body.innerText)"


@dataclass(frozen=True)
class Shot:
    """One picture: its name, how high it is, what it needs, and how its page is written."""

    name: str
    height: int
    needs: Path
    page: Callable[[Path], Path]


def kept_breakout(folder: Path) -> Path:
    """The milestones of the runs of docs/breakout.md, from every point that was kept."""
    kept = json.loads(CURVES.read_text("utf-8"))["runs"]
    runs = []
    for name, found in kept.items():
        preset = next(PRESETS[start] for start in PRESETS if name.startswith(start))
        store = RunWriter.create(folder / name, load_config(preset))
        for number, point in enumerate(found["points"], start=1):
            taken, seconds = point["taken"], point["seconds"]
            signals = {n: v for n, v in point.items() if n not in ("taken", "seconds")}
            signals["rollout.reward_mean"] = float(signals["rollout.return_mean"] > 0)
            store.append_step(Step(number, taken, seconds, signals))
        store.close()
        runs.append(folder / name)
    found = measure_all(runs, [10.0, 25.0, 50.0])
    return write_page(folder / "milestones.html", milestones_page(runs, found))


SHOTS = (
    Shot("rescue-report", 1400, DEMO / "rescue.json", lambda _: write_result(DEMO, "rescue")),
    Shot(
        "run-report",
        1480,
        DEMO / "original" / "steps.jsonl",
        lambda _: write_report([open_run(DEMO / "original")]),
    ),
    Shot("ladder-report", 1120, LADDER / "ladder.json", lambda _: write_result(LADDER, "ladder")),
    Shot("milestones", 1240, CURVES, kept_breakout),
)


def main() -> None:
    """Every picture whose runs are there."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for shot in SHOTS:
            if shot.needs.exists():
                address = shot.page(Path(temporary)).resolve().as_uri()
                take(browser, shot.name, address, shot.height, "light")
            else:
                sys.stdout.write(f"{shot.name}.png left as it is: {shot.needs} is not there\n")
        if DEMO.exists():
            for address in dashboard(DEMO.parent):
                take(browser, "fleet", address, 760, "dark")
        browser.close()


def take(
    browser: Browser, name: str, address: str, height: int, theme: Literal["dark", "light"]
) -> None:
    """One picture of one page."""
    page = browser.new_page(viewport={"width": 1180, "height": height}, color_scheme=theme)
    page.goto(address)
    page.wait_for_function(JUDGED, timeout=JUDGED_MS)
    page.wait_for_timeout(DRAWN_MS)
    page.screenshot(path=DOCS / f"{name}.png")
    page.close()


def dashboard(folder: Path) -> Iterator[str]:
    """The address of a dashboard, which is served until the picture is taken."""
    command = [sys.executable, "-m", "steadyrl", "dashboard", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0]
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
