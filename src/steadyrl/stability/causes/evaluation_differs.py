"""C225: what is evaluated is not what was trained."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """Training got better, evaluations did not."""
    finding = case.found("D041")
    return Weight(0.85, (finding.message,)) if finding else Weight(0.0)


CAUSE = Cause(
    id="C225",
    name="evaluation-differs",
    explanation="The evaluation's environment normalises with statistics of its own (or none), has "
    "other wrappers or settings, or the policy only works with its exploration noise.",
    explains=("D041", "D011", "D009"),
    evidence_for="Training episodes that got better, evaluations that did not.",
    evidence_against="None.",
    would_decide="Evaluating with the training environment's normaliser, once with and once "
    "without exploration noise.",
    remedies=("R395",),
    weigh=weigh,
    traits=("acts",),
)
