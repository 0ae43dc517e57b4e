"""C271: answers do not fit, or never end."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

FITTED = 0.2


def weigh(case: Case) -> Weight:
    """Cut completions."""
    finding = case.found("D141")
    if finding is None:
        return Weight(0.0)
    least = case.window.lowest("language.cut_share")
    if least < FITTED:
        against = (f"once only {least:.0%} were: there is room, and it learned not to end",)
        return Weight(0.3, (finding.message,), against)
    always = least > 0.95
    reasons = [finding.message]
    if always:
        reasons.append("from the first step on: the model may never have learned to end")
    return Weight(0.8, tuple(reasons))


CAUSE = Cause(
    id="C271",
    name="length-limit-too-low",
    explanation="The largest length is below what an answer needs, or the model has no end of "
    "sequence it could use (a padding token that is the end token, a template without one).",
    explains=("D141", "D011"),
    evidence_for="Most completions are cut off.",
    evidence_against="Completions that fitted once.",
    would_decide="A few completions with twice the length: do they end?",
    remedies=("R361",),
    weigh=weigh,
    traits=("language",),
)
