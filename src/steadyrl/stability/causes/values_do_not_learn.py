"""C249: the critic is too weak for its targets."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Unexplained returns, and what the settings say."""
    finding = case.found("D106")
    reasons, confidence = ([finding.message], 0.4) if finding else ([], 0.0)
    rate = case.setting("critic_learning_rate")
    weight = case.setting("value_weight")
    if rate is not None and rate < 1e-5:
        reasons.append(f"critic_learning_rate is {rate:g}")
        confidence += 0.4
    if weight is not None and weight < 0.01:
        reasons.append(f"value_weight is {weight:g}")
        confidence += 0.4
    return Weight(confidence, tuple(reasons))


CAUSE = Cause(
    id="C249",
    name="values-do-not-learn",
    explanation="The value function does not follow the returns: its steps are too few or too "
    "small, or its inputs do not tell states apart.",
    explains=("D106", "D011"),
    evidence_for="Explained variance at or below zero.",
    evidence_against="None.",
    would_decide="Fitting the critic alone on one rollout: if it fits, it needs more steps; if "
    "not, better inputs.",
    remedies=("R335",),
    weigh=weigh,
    traits=("on_policy",),
)
