"""C202: steps too small to get anywhere."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight

USUAL = 1e-4


def weigh(case: Case) -> Weight:
    """Tiny relative weight changes although there is a gradient."""
    if not case.descends():
        return Weight(0.0)
    rate = case.setting("learning_rate")
    reasons, against, confidence = [], [], 0.1
    finding = case.found("D003", "D002")
    if finding:
        reasons.append(finding.message)
        confidence += 0.4
    if isinstance(rate, float) and rate < USUAL:
        reasons.append(f"learning_rate {rate:g} is below the usual {USUAL:g}")
        confidence += 0.45
    elif rate is not None:
        against.append(f"learning_rate {rate:g} is in the usual range")
        confidence -= 0.2
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C202",
    name="learning-rate-too-low",
    explanation="The networks hardly move; the budget ends before anything is learned.",
    explains=("D003", "D002", "D006", "D011"),
    evidence_for="Relative weight change per update far below that of healthy runs.",
    evidence_against="A usual learning rate.",
    would_decide="A fork with learning_rate x 10 and nothing else changed.",
    remedies=("R302",),
    weigh=weigh,
    traits=("acts",),
)
