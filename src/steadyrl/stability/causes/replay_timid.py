"""C290: replay has nothing to draw."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Said by the use itself."""
    finding = case.found("D160")
    return Weight(0.6, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C290",
    name="replay-timid",
    explanation="The buffer is too small, its items go stale too soon or may be used too seldom, "
    "so that hardly any old sample is trained on.",
    explains=("D160",),
    evidence_for="Samples are used less than 1.5 times though replay is on.",
    evidence_against="A long wait for replay.minimum in a short run.",
    would_decide="A run with a larger buffer and more uses.",
    remedies=("R380",),
    weigh=weigh,
    traits=("clipped",),
)
