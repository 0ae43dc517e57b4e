"""C232: actions do not reach the world."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """No effect in anything that passed by."""
    finding = case.found("D046")
    if finding is None:
        return Weight(0.0)
    blind = case.found("D017")
    if blind:
        against = f"{blind.message}: where nothing is seen, no effect can be"
        return Weight(0.3, (finding.message,), (against,))
    return Weight(0.9, (finding.message,))


CAUSE = Cause(
    id="C232",
    name="actions-lost",
    explanation="What the policy chooses is not what the world is given: the action is dropped, "
    "overwritten or replaced in step() or in a wrapper.",
    explains=("D046", "D048", "D011", "D009", "D105", "D106", "D025", "D006", "D023"),
    evidence_for="Neither the next state nor the reward depends on the action.",
    evidence_against="Observations that never change.",
    would_decide="steadyrl check --environment: the same episode with one action changed.",
    remedies=("R397",),
    weigh=weigh,
    traits=("acts",),
)
