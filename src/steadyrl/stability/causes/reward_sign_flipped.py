"""C235: the reward is negated."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Returns of a sign that the environment does not give."""
    finding = case.found("D050")
    return Weight(0.9, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C235",
    name="reward-sign-flipped",
    explanation="The reward reaches the learner with the other sign: a cost taken for a reward, or "
    "a minus in a wrapper. The learner then gets better at being worse.",
    explains=("D050", "D010", "D011", "D009", "D008"),
    evidence_for="Returns of a sign that this environment never gives.",
    evidence_against="None.",
    would_decide="The reward of one step that is known to be good.",
    remedies=("R397",),
    weigh=weigh,
    traits=("acts",),
)
