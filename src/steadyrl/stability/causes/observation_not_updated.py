"""C214: observation-not-updated."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D017")
    return Weight(0.95, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C214",
    name="observation-not-updated",
    explanation="The agent is blind: the environment is not stepped, or an old observation is "
    "stored again and again.",
    explains=("D017", "D006", "D011", "D009", "D008", "D025", "D023", "D016", "D105", "D106"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: read the code that the remedy names.",
    remedies=("R390",),
    weigh=weigh,
    traits=("acts",),
)
