"""C292: the same samples are trained on too often."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

BOLD_REUSE = 8  # the document's own word for it is aggressive


def weigh(case: Case) -> Weight:
    """Uses beyond what anybody recommends."""
    reuse = case.setting("replay.reuse")
    if not case.setting("replay.enabled") or not reuse or reuse <= BOLD_REUSE:
        return Weight(0.0)
    setting = f"replay.reuse is {reuse}"
    if worn := case.found("D167"):
        return Weight(0.75, (worn.message, setting))
    if other := case.found("D161", "D009", "D010", "D011"):
        return Weight(0.35, (other.message, setting))
    return Weight(0.0)


CAUSE = Cause(
    id="C292",
    name="replay-overused",
    explanation="A small number of samples is gone over so often that the policy fits what was "
    "chance in them.",
    explains=("D167", "D161", "D009", "D010", "D011", "D102"),
    evidence_for="Items that were drawn more than ten times.",
    evidence_against="A reuse limit of eight or less.",
    would_decide="A run with replay.reuse = 2.",
    remedies=("R381", "R383"),
    weigh=weigh,
    traits=("clipped",),
)
