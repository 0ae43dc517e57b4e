"""C228: rewards are so large that the value function cannot follow."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """A huge value loss, and values that explain little."""
    finding = case.found("D043")
    if finding is None:
        return Weight(0.0)
    if case.setting("normalize_rewards"):
        return Weight(0.3, (finding.message,), ("rewards are normalised",))
    return Weight(0.7, (finding.message,))


CAUSE = Cause(
    id="C228",
    name="rewards-unscaled",
    explanation="Returns are in the hundreds and thousands and reach the value network as they "
    "are: its loss owns the gradient, and its values lag behind.",
    explains=("D043", "D106", "D011", "D107"),
    evidence_for="A value loss in the hundred thousands with little variance explained.",
    evidence_against="Normalised rewards.",
    would_decide="A run with rewards divided by their running deviation.",
    remedies=("R337",),
    weigh=weigh,
    traits=("acts",),
)
