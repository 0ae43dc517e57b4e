"""C237: the disk is slow for how often the run is saved."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The finding says it all."""
    finding = case.found("D035")
    return Weight(0.9, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C237",
    name="disk-slow",
    explanation="The disk takes long for what is written to it: it is slow, others use it too, or "
    "checkpoints are large and frequent. What is learned does not depend on it.",
    explains=("D035",),
    evidence_for="The share of time in which training waits for the disk.",
    evidence_against="None: this is measured directly.",
    would_decide="It is decided; a run in a folder on another disk tells whether that is faster.",
    remedies=("R375", "R320"),
    weigh=weigh,
    concerns="machine",
)
