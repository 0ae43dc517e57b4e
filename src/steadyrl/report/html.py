"""The page of one run, or of several over each other: one file that opens anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.viewer.frame import write_page
from steadyrl.views.runs import runs_page

if TYPE_CHECKING:
    from steadyrl.judging import Recorded


def write_report(stores: Sequence[Recorded], output: Path | None = None) -> Path:
    """Write the page into the run, of several beside the first, or where asked."""
    path = output or _usual_place([store.path for store in stores])
    for store in stores:
        if isinstance(store, ForeignRun) and not any(step.signals for step in store.steps()):
            raise StoreError(
                f"{store.path}: none of its names is known, so there is nothing to draw. Say what "
                "they mean with --mapping (docs/foreign-runs.md shows how)."
            )
    return write_page(path, runs_page(stores))


def _usual_place(runs: Sequence[Path]) -> Path:
    """A page of several runs is nobody's own: it must not take the place of one that is."""
    first = runs[0]
    if len(runs) > 1:
        return first.parent / f"report-of-{len(runs)}-runs.html"
    return first.with_suffix(".html") if first.is_file() else first / "report.html"
