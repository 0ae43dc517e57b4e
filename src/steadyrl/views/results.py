"""What experiments found, as pages: a rescue, a ladder, a comparison, a study, a fault bench."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steadyrl.store.files import holds_keys
from steadyrl.store.results import FILES, UNFIT, Kind, unfit
from steadyrl.views.comparison import comparison_page
from steadyrl.views.fault_bench import fault_bench_page
from steadyrl.views.ladder import ladder_page
from steadyrl.views.pages import Page
from steadyrl.views.rescue import rescue_page
from steadyrl.views.study import study_page

PAGES: dict[Kind, Callable[[Path], Page]] = {
    "rescue": rescue_page,
    "ladder": ladder_page,
    "compare": comparison_page,
    "study": study_page,
    "faults": fault_bench_page,
}
# Results that are kept as a file of any name, by what only they hold.
KEPT: dict[Kind, tuple[str, ...]] = {
    "faults": ("by_fault", "all"),
    "study": ("study", "verdict", "because", "head"),
}


def kind_of_result(place: Path) -> Kind | None:
    """What a folder or a file holds, if it is a result."""
    if place.is_file():
        return next((kind for kind, names in KEPT.items() if holds_keys(place, *names)), None)
    return next((kind for name, kind in FILES.items() if (place / name).is_file()), None)


def result_page(place: Path, kind: Kind) -> Page:
    """The page of what a folder or a file holds; a sentence if it does not."""
    try:
        return PAGES[kind](place)
    except UNFIT as error:
        file = place / f"{kind}.json" if place.is_dir() else place
        raise unfit(file, kind, error) from None
