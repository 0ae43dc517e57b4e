"""C280: the reward pays for something else than right answers."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Reward and held-out problems part."""
    finding = case.found("D148")
    return Weight(0.85, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C280",
    name="reward-misleads",
    explanation="The scorer can be satisfied without a right answer (partial credit, a format, a "
    "pattern anywhere in the text), or there are so few problems that they are learned by heart.",
    explains=("D148", "D142"),
    evidence_for="A reward that rises while held-out problems are answered worse.",
    evidence_against="None.",
    would_decide="Reading ten of the best-paid completions.",
    remedies=("R368", "R362"),
    weigh=weigh,
    traits=("language",),
)
