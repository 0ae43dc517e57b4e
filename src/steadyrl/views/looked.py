"""A run that was read and judged once, for whoever shows it: as a page, as a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steadyrl.core.coarsen import Columns, coarsen, columns_of
from steadyrl.core.records import Step
from steadyrl.judging import BLOCKS, Judged, judged, judged_as_seen, observe
from steadyrl.store.reader import RunReader

if TYPE_CHECKING:
    from steadyrl.judging import Recorded


@dataclass(frozen=True)
class Looked:
    """The verdict, the Steps, and the blocks of them that rules look at."""

    found: Judged
    columns: Columns | None
    blocks: Sequence[Step]


def look_at(store: Recorded, columns: Columns | None = None) -> Looked:
    """Read and judge a run; `columns` are its Steps, if they were read before."""
    if isinstance(store, RunReader):
        config = store.config_in_force()
        seen = observe(store, config, columns)
        return Looked(judged_as_seen(store, config, seen), seen.columns, seen.steps)
    columns = columns_of(step.to_json() for step in store.steps())
    blocks = coarsen(columns, -(-len(columns) // BLOCKS)) if columns else []
    return Looked(judged(store), columns, blocks)
