"""C279: the reference is another model, or the policy itself."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D152", "D153")
    return Weight(0.95, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C279",
    name="reference-wrong",
    explanation="The reference is not a frozen copy of the model that training began with: it was "
    "loaded from elsewhere, copied too late, or shares its weights with the policy.",
    explains=("D152", "D153", "D142", "D146", "D156", "D148", "D009"),
    evidence_for="A distance that is not 0 at the start, or 0 for ever.",
    evidence_against="None.",
    would_decide="It is decided: compare the weights of both, by value and by identity.",
    remedies=("R390",),
    weigh=weigh,
    traits=("language",),
)
