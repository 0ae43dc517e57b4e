"""Q504: how old and how repetitive is the data?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Duplicates, buffer share and ages of the last batch."""
    share, duplicates = look.get("data.buffer_share"), look.get("data.duplicate_share")
    if share is None or duplicates is None:
        return None
    said = f"a batch is {share:.1%} of the buffer and {duplicates:.1%} of it repeats itself; its "
    said += f"median age is {look['data.age_median']:,.0f} steps"
    names = ("data.buffer_share", "data.duplicate_share", "data.age_median", "data.age_oldest")
    return Evidence("Q504", said, {name: look[name] for name in names})


PROBE = Probe(
    id="Q504",
    name="batch-composition",
    question="What share of the buffer is a batch, how much of it repeats, how old is it?",
    cost="none",
    answer=answer,
)
