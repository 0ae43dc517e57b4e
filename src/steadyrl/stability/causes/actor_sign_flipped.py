"""C211: actor-sign-flipped."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """The invariant itself is the evidence."""
    finding = case.found("D021")
    return Weight(0.93, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C211",
    name="actor-sign-flipped",
    explanation="The actor minimises Q: it seeks the worst actions its critic knows.",
    explains=("D021", "D008", "D009", "D011", "D006", "D010", "D005", "D025", "D007"),
    evidence_for="A violated invariant: on correct code it holds exactly, whatever the settings.",
    evidence_against="None.",
    would_decide="It is decided: read the code that the remedy names.",
    remedies=("R390",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
