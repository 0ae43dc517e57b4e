"""One run by itself, or several over each other, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steadyrl.views.names import distinct_names
from steadyrl.views.pages import Page
from steadyrl.views.run import RunView, run_view

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

WORST = ("bad", "doubtful", "unknown", "good")
FEW = 3  # runs that a page draws in full detail
POINTS = 480  # of a curve where there are more: charts are a third of the page wide


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
