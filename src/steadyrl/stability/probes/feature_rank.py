"""Q505: can the critic still learn?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Effective rank of the critic's last features."""
    share = look.get("capacity.rank_share")
    if share is None:
        return None
    state = "has lost most of its capacity" if share < 0.05 else "still has capacity"
    said = f"the critic's features have {share:.0%} of their possible rank: it {state}"
    return Evidence("Q505", said, {"rank_share": share})


PROBE = Probe(
    id="Q505",
    name="feature-rank",
    question="How many independent features does the critic's last layer have left?",
    cost="one singular value decomposition of 256 rows",
    answer=answer,
)
