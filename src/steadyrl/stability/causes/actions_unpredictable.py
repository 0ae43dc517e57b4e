"""C264: what is seen does not tell what is done."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight


def weigh(case: Case) -> Weight:
    """An error near the variance with settings that are beyond reproach."""
    finding = case.found("D123")
    rate = case.setting("learning_rate") or 0.0
    if finding is None or not 1e-5 <= rate <= 3e-3:
        return Weight(0.0)
    return Weight(0.75, (finding.message, f"learning_rate {rate:g} is a usual one"))


CAUSE = Cause(
    id="C264",
    name="actions-unpredictable",
    explanation="Observations and actions do not belong together (shifted by a step, shuffled, "
    "recorded from different clocks), or what decides the action is not observed.",
    explains=("D123",),
    evidence_for="An error near the variance at usual settings.",
    evidence_against="Extreme settings.",
    would_decide="'steadyrl demos inspect' on the file: conflicting actions for equal states.",
    remedies=("R392",),
    weigh=weigh,
    traits=("cloning",),
)
