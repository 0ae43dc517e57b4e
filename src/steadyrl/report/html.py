"""The page of one run, or of several over each other: one file that opens anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.viewer.frame import write_page
from steadyrl.views.names import distinct_names
from steadyrl.views.pages import Page, table
from steadyrl.views.run import RunView, run_view

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

FEW = 3  # runs that a page draws in full detail
POINTS = 480  # of a curve where there are more: charts are a third of the page wide


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


def runs_page(stores: Sequence[Recorded]) -> Page:
    """One run by itself; several with a table of what is said of each."""
    runs = view_runs(stores)
    names = [run.name for run in runs]
    title = ", ".join(names) if len(names) <= FEW else f"{len(names)} runs"
    if len(runs) == 1:
        return Page(kind="run", title=title, runs=runs)
    rows = [(run.name, run.headline, _since(run), _cause(run), *run.told[:1]) for run in runs]
    head = ("run", "verdict", "since", "cause", "in words")
    return Page(kind="runs", title=title, runs=runs, blocks=[table("Verdicts", head, rows)])


def view_runs(stores: Sequence[Recorded]) -> list[RunView]:
    """Runs under names that tell them apart."""
    names = distinct_names([store.path for store in stores])
    more = {} if len(stores) <= FEW else {"points": POINTS}
    return [run_view(store, name, **more) for name, store in zip(names, stores, strict=True)]


def _usual_place(runs: Sequence[Path]) -> Path:
    """A page of several runs is nobody's own: it must not take the place of one that is."""
    first = runs[0]
    if len(runs) > 1:
        return first.parent / f"report-of-{len(runs)}-runs.html"
    return first.with_suffix(".html") if first.is_file() else first / "report.html"


def _since(run: RunView) -> str:
    return "" if run.onset is None else f"{run.onset:,}"


def _cause(run: RunView) -> str:
    if not run.causes:
        return "unknown" if run.onset is not None else ""
    first = run.causes[0]
    return f"{first.id} {first.name} ({first.confidence:.2f})"
