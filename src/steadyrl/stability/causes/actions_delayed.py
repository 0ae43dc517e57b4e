"""C233: actions reach the world some steps later."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """An effect that is never there at once."""
    finding = case.found("D047")
    return Weight(0.9, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C233",
    name="actions-delayed",
    explanation="Actions wait in a queue before they reach the world, and the observation does not "
    "hold them: the policy is paid for what it did some steps ago.",
    explains=("D047", "D011", "D009", "D105", "D106", "D025", "D006", "D023"),
    evidence_for="What follows depends on an earlier action and not on the present one.",
    evidence_against="None.",
    would_decide="steadyrl check --environment: the same episode with one action changed.",
    remedies=("R397",),
    weigh=weigh,
    traits=("acts",),
)
