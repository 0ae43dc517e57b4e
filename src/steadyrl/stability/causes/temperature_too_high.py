"""C227: a soft actor is paid for randomness, not for its task."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """An entropy weight above the rewards."""
    finding = case.found("D045")
    return Weight(0.8, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C227",
    name="temperature-too-high",
    explanation="The entropy bonus outweighs the rewards: the policy is best paid where it is most "
    "random.",
    explains=("D045", "D011", "D009"),
    evidence_for="An entropy weight larger than what a step earns.",
    evidence_against="None.",
    would_decide="A run whose temperature is tuned by itself, or is a tenth.",
    remedies=("R394",),
    weigh=weigh,
    traits=("off_policy", "climbs_values"),
)
