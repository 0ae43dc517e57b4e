"""Q503: few samples or all of them?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Share of the squared error in the hardest percent of the batch, at least one transition."""
    share = look.get("batch.top_percent_share")
    if share is None:
        return None
    few = share > 0.5
    said = f"the hardest 1 % of the batch holds {share:.0%} of its loss: "
    said += "a few transitions drive the gradient" if few else "the error is spread over the batch"
    return Evidence("Q503", said, {"top_percent_share": share})


PROBE = Probe(
    id="Q503",
    name="error-concentration",
    question="Is the loss made by a few transitions or by all?",
    cost="one forward pass over one batch",
    answer=answer,
)
