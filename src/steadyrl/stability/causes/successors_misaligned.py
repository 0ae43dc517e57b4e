"""C215: successors-misaligned."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D020")
    return Weight(0.96, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C215",
    name="successors-misaligned",
    explanation="Transitions are put together from the wrong observations: the critic learns "
    "the values of states that did not follow.",
    explains=("D020", "D006", "D011", "D009", "D025", "D008"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: read the code that the remedy names.",
    remedies=("R390",),
    weigh=weigh,
    traits=("off_policy",),
)
