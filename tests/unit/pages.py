"""What a written page holds, as its viewer reads it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

DATA = re.compile(
    r'<script type="application/json" id="data"(?P<packed> data-packed="gzip")?>'
    r"(?P<data>.*?)</script>",
    re.DOTALL,
)
MORE = re.compile(r'id="more" data-packed="gzip">(?P<data>.*?)</script>', re.DOTALL)


def page_data(path: Path) -> dict[str, Any]:
    """The data that a page carries."""
    found = DATA.search(path.read_text("utf-8"))
    assert found is not None
    text = found["data"]
    if found["packed"]:
        text = gzip.decompress(base64.b64decode(text)).decode()
    data: dict[str, Any] = json.loads(text)
    if more := MORE.search(path.read_text("utf-8")):
        later = json.loads(gzip.decompress(base64.b64decode(more["data"])))
        for run, curves in zip(data["runs"], later, strict=True):
            run["curves"] |= curves
    return data


def texts(value: Any) -> list[str]:
    """Every string in plain data, keys included."""
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []
