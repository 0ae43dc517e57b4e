"""Assembles the viewer's page: everything in one file, or with its parts beside it on a server.

Values never become markup: they are JSON in a block that browsers do not run, and the viewer makes
text of them. What may run is named by its checksum.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from steadyrl.store.files import write_atomically
from steadyrl.views.pages import Page

SCRIPTS = ("base.js", "charts.js", "run.js", "blocks.js", "fleet.js", "main.js", "start.js")
PACKED = 200_000  # characters of data, above which they are compressed

_TEMPLATES = Environment(
    loader=PackageLoader("steadyrl.viewer", "static"), autoescape=True, undefined=StrictUndefined
)


@cache
def script() -> str:
    """The vendored libraries and the viewer, as one script."""
    own = "\n".join(_text("static", name) for name in SCRIPTS)
    return f'{_text("vendor", "vendor.js")}\n(() => {{\n"use strict";\n{own}}})();\n'


@cache
def style() -> str:
    """All styles."""
    return _text("vendor", "vendor.css") + "\n" + _text("static", "style.css")


def write_page(path: Path, page: Page) -> Path:
    """A page with its data inlined: one file that opens anywhere, without a network."""
    text = render_page(page)
    write_atomically(path, text.encode(errors="replace"))  # names of files need not be text
    return path


def render_page(page: Page) -> str:
    """The whole page as text; a large one in two parts, what is seen first in the first."""
    record = page.to_json()
    data = plain(record)
    packed = len(data) > PACKED
    more = ""
    if packed:
        later = [_take_later(run, alone=len(page.runs) == 1) for run in record["runs"]]
        data, more = _squeezed(plain(record)), _squeezed(plain(later))
    return _TEMPLATES.get_template("page.html").render(
        title=page.title,
        version=version("steadyrl"),
        told=page.told or [text for run in page.runs for text in run.told],
        policy=_policy(),
        style=style(),
        script=script(),
        data=inert(data),
        more=more,
        packed=packed,
    )


def _take_later(run: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """Curves that are folded away at first: taken out of a run."""
    first = {name for panel in run["main"] for name in panel}
    if alone:
        first |= {signal["name"] for signal in run["signals"] if signal["left"] is not None}
        first |= {piece["signal"] for cause in run["causes"] for piece in cause["evidence"]}
    curves = run["curves"]
    run["curves"] = {name: curve for name, curve in curves.items() if name in first}
    return {name: curve for name, curve in curves.items() if name not in first}


def _squeezed(data: str) -> str:
    squeezed = gzip.compress(data.encode(errors="replace"), compresslevel=9, mtime=0)
    return base64.b64encode(squeezed).decode()


def render_shell(title: str) -> str:
    """The same frame for a server, which has scripts, styles and data at addresses of their own."""
    return _TEMPLATES.get_template("shell.html").render(title=title, version=version("steadyrl"))


def inert(data: str) -> str:
    """JSON that cannot end the block it stands in, nor begin another."""
    for character, written in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        data = data.replace(character, written)
    return data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _policy() -> str:
    """What a file allows itself: its own script and styles, by checksum, and no network."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_checksum(script())}",
            f"style-src {_checksum(style())}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _checksum(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _text(folder: str, name: str) -> str:
    return (files("steadyrl.viewer") / folder / name).read_text("utf-8")


def plain(value: Any) -> str:
    """Strict JSON for an answer of the server."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
