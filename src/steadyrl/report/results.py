"""The page of what an experiment found: one file that opens anywhere."""

from __future__ import annotations

from pathlib import Path

from steadyrl.store.results import Kind
from steadyrl.viewer.frame import write_page
from steadyrl.views.results import result_page


def write_result(place: Path, kind: Kind, output: Path | None = None) -> Path:
    """Beside the result, or where asked."""
    usual = place / "report.html" if place.is_dir() else place.with_suffix(".html")
    return write_page(output or usual, result_page(place, kind))
