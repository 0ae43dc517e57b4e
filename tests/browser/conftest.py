"""A headless Chromium of the system; where there is none, the tests say so and are skipped.

With BROWSER_TESTS=required (as in .ci/run) they fail instead: what nobody opened is not tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REQUIRED = "BROWSER_TESTS"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        missing = f"there is no {', '.join(BROWSERS)} on this machine: apt-get install chromium"
        pytest.fail(missing) if os.environ.get(REQUIRED) == "required" else pytest.skip(missing)
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens pages; afterwards nothing may have complained or asked beyond this machine."""
    complaints: list[str] = []
    contexts = []

    def open_page(address: str, *, width: int = 1280, theme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _beyond(request.url, complaints))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    # What a browser says of a server that went away is no fault of the page.
    assert [text for text in complaints if "net::ERR_" not in text] == []


def _beyond(address: str, complaints: list[str]) -> None:
    if not address.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
        complaints.append(f"asked for {address}")


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[tuple[str, int]]:
    """A dashboard over a folder in a process of its own, and its address."""
    command = [sys.executable, "-m", "steadyrl", "dashboard", str(folder), "--port", str(port)]
    cache = {"XDG_CACHE_HOME": str(folder.parent / f"{folder.name}-cache")}  # never the user's own
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **cache}
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[0]
            yield address, int(address.rpartition(":")[2])
        finally:
            process.kill()


def holds(page: Any, expression: str, patience: int = 400) -> bool:
    """Whether something becomes true; the page's own policy forbids Playwright's way of waiting."""
    for _ in range(patience):
        if page.evaluate(expression):
            return True
        page.wait_for_timeout(50)
    return False
