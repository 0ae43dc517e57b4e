"""The screenshots of docs/pages.md, from what `make demo` wrote: python docs/screenshots.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.report.rescue import write_rescue_report

DEMO = Path("runs/demo")
DOCS = Path(__file__).parent


def main() -> None:
    """A rescue, a run and the dashboard."""
    pages = {
        "rescue-report": (write_rescue_report(DEMO).resolve().as_uri(), 1240, "light"),
        "run-report": (
            write_report([open_run(DEMO / "original")]).resolve().as_uri(),
            1480,
            "light",
        ),
    }
    command = [sys.executable, "-m", "steadyrl", "dashboard", "runs", "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        pages["fleet"] = (server.stdout.readline().split()[0], 640, "dark")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, (address, height, theme) in pages.items():
            page = browser.new_page(viewport={"width": 1180, "height": height}, color_scheme=theme)
            page.goto(address)
            page.wait_for_timeout(10_000)  # until every run is judged and drawn
            page.screenshot(path=DOCS / f"{name}.png")
        browser.close()
        server.kill()


if __name__ == "__main__":
    main()
