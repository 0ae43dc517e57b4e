"""C294: the bookkeeping of replay is wrong."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """An invariant that cannot be violated by any setting."""
    finding = case.found("D164", "D165", "D166")
    return Weight(0.95, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C294",
    name="replay-miscounts",
    explanation="Weights of old samples, their priorities or their ages are not what they must "
    "be: the code that keeps them is wrong, or a resume has restored a part of it.",
    explains=("D164", "D165", "D166", "D161", "D009", "D010", "D011"),
    evidence_for="A violated invariant.",
    evidence_against="None: an invariant needs no second witness.",
    would_decide="It is decided by the invariant.",
    remedies=("R390",),
    weigh=weigh,
    traits=("clipped",),
)
