"""The page of one run, or of several over each other: one file that opens anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.core.errors import StoreError
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.viewer.frame import write_page
from steadyrl.views.names import distinct_names
from steadyrl.views.pages import Page
from steadyrl.views.run import RunView, run_view

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

WORST = ("bad", "doubtful", "unknown", "good")
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
    """One run by itself; several with a word on how they stand."""
    runs = view_runs(stores)
    names = [run.name for run in runs]
    title = ", ".join(names) if len(names) <= FEW else f"{len(names)} runs"
    if len(runs) == 1:
        return Page(kind="run", title=title, runs=runs)
    tone = min((run.tone for run in runs), key=WORST.index)
    return Page(kind="runs", title=title, tone=tone, told=_told(runs), runs=runs)


def _told(runs: Sequence[RunView]) -> list[str]:
    """How many stand how, and what is wrong with the worst of them."""
    ordered = sorted(runs, key=lambda run: WORST.index(run.tone))
    counts = Counter(run.headline for run in ordered)
    said = [", ".join(f"{count} {headline}" for headline, count in counts.items()) + "."]
    wrong = [run for run in ordered if run.tone in ("bad", "doubtful")]
    said += [f"{run.name}: {' '.join(run.told[:2])}" for run in wrong[:FEW]]
    if len(wrong) > FEW:
        said.append(f"And {len(wrong) - FEW} more, below.")
    return said


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
