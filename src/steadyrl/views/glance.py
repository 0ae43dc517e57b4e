"""A long run before it is judged: its curves alone, for who waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from steadyrl.core.coarsen import Columns
from steadyrl.views.curves import Curve
from steadyrl.views.facts import heard
from steadyrl.views.run import RunView, panels_of, signals_of

if TYPE_CHECKING:
    from steadyrl.judging import Recorded

TOLD = "These are its curves; the verdict on them is being worked out."


def glance(
    store: Recorded, name: str, columns: Columns | None, curves: Mapping[str, Curve]
) -> RunView:
    """The page as far as it is known without a verdict."""
    config = store.config
    ends = [curve.x[-1] for curve in curves.values() if curve.x]
    return RunView(
        name=name,
        path=str(store.path),
        headline="reading",
        tone="",
        told=[TOLD],
        command="",
        command_does="",
        facts=[("task", config.task)],
        unit=config.unit,
        status="",
        taken=int(columns.takens[-1] if columns else max(ends, default=0)),
        budget=config.budget or 0,
        eta_seconds=None,
        heard=heard(store),
        findings=[],
        causes=[],
        machine_causes=[],
        undecided=[],
        unmeasured=[],
        notes=[],
        marks=[],
        main=panels_of((), config, curves),
        judged_by="",
        signals=signals_of(curves, {}, []),
        checklist=[],
        settings=[],
        compared_with="",
        events=[],
        curves=curves,
    )
