"""C226: actions stay random by schedule."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """A share of random actions that is still high."""
    finding = case.found("D044")
    return Weight(0.8, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C226",
    name="exploration-never-falls",
    explanation="The schedule of random actions is far longer than the training, or does not fall "
    "at all: what is learned is never acted upon.",
    explains=("D044", "D011"),
    evidence_for="A high share of random actions at the end of the record.",
    evidence_against="None.",
    would_decide="An evaluation without random actions.",
    remedies=("R396",),
    weigh=weigh,
    traits=("off_policy",),
)
